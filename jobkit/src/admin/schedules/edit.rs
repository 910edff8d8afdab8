//! Creating and editing schedules.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::admin::{AdminError, refusal};
use crate::enqueue::draft::key;
use crate::error::{DatabaseError, InvalidValue};
use crate::limits::{self, NAME_BYTES};
use crate::registry::Registry;
use crate::schedule::{CatchUp, Overlap, Schedule, Times};
use crate::store::interval_text;

/// Why a schedule was not created or changed. Nothing was stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// Its times, its kind, its payload or something else is invalid, as a sentence says.
    #[error("{0}")]
    Refused(String),
    /// Anything else: [`AdminError::Invalid`] and [`AdminError::Encrypt`] for the values of the
    /// schedule, [`AdminError::Busy`] if workers keep it busy; otherwise the errors of every method
    /// of [`Admin`](crate::Admin).
    #[error(transparent)]
    Failed(AdminError),
}

impl<E> From<E> for ScheduleError
where
    AdminError: From<E>,
{
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl ScheduleError {
    /// The error for an answer of the functions.
    pub(super) fn of(error: DatabaseError) -> Self {
        match error.code().as_deref() {
            Some("JK003" | "JK004" | "JK005" | "JK008" | "JK010") => Self::Refused(refusal(&error)),
            _ => error.into(),
        }
    }
}

/// The job that a new schedule enqueues: its kind and payload, and overrides of what was announced
/// for the kind.
#[derive(Debug, Clone)]
pub struct ScheduledJob {
    kind: String,
    args: Value,
    queue: Option<String>,
    concurrency_key: Option<String>,
    priority: Option<i16>,
    version: Option<u16>,
}

impl ScheduledJob {
    /// A job of this kind, with this payload.
    #[must_use]
    pub fn new(kind: impl Into<String>, args: Value) -> Self {
        Self {
            kind: kind.into(),
            args,
            queue: None,
            concurrency_key: None,
            priority: None,
            version: None,
        }
    }

    /// The queue to wait in; 1 to 128 bytes.
    #[must_use]
    pub fn queue(mut self, queue: impl Into<String>) -> Self {
        self.queue = Some(queue.into());
        self
    }

    /// Its priority, from −3, which comes first, to 3; by default that of the kind.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = Some(narrowed(priority));
        self
    }

    /// Its concurrency key. By default, if this process has the kind linked, the key is computed
    /// from the payload.
    #[must_use]
    pub fn concurrency_key(mut self, key: impl Into<String>) -> Self {
        self.concurrency_key = Some(key.into());
        self
    }

    /// The version of the payload; 1 by default.
    #[must_use]
    pub fn version(mut self, version: u16) -> Self {
        self.version = Some(version);
        self
    }

    /// The kind, and the payload.
    pub(super) fn payload(&self) -> (String, Value) {
        (self.kind.clone(), self.args.clone())
    }

    /// What to store, except the first instant and the payload.
    pub(super) fn stored(
        self,
        name: &str,
        schedule: &Schedule,
    ) -> Result<(Value, Times), ScheduleError> {
        limits::name("name of a schedule", name, NAME_BYTES)?;
        limits::name("kind", &self.kind, NAME_BYTES)?;
        let times = schedule.check().map_err(ScheduleError::Refused)?;
        if let Some(queue) = &self.queue {
            limits::name("queue", queue, NAME_BYTES)?;
        }
        in_range(self.priority)?;
        let version = self.version.unwrap_or(1);
        limits::range("version", version, limits::VERSIONS, "1 to 32767")?;
        let own = key_of(&self.kind, version, &self.args)?;
        let key = key("concurrency key", self.concurrency_key.or(own.flatten()))?;
        let mut stored = json!({
            "name": name, "times": times.to_string(), "overlap": schedule.overlap.stored(),
            "jitter": interval_text(schedule.jitter), "kind": self.kind, "queue": self.queue,
            "priority": self.priority,
            "concurrency_key": key, "version": Some(version).filter(|version| *version != 1),
        });
        catch_up_of(schedule.catch_up, &mut stored);
        Ok((stored, times))
    }
}

/// A value out of range stays out of range.
fn narrowed(priority: i32) -> i16 {
    i16::try_from(priority).unwrap_or(i16::MAX)
}

fn in_range(priority: Option<i16>) -> Result<(), InvalidValue> {
    priority.map_or(Ok(()), |it| limits::range("priority", it, limits::PRIORITIES, "−3 to 3"))
}

fn catch_up_of(catch_up: CatchUp, stored: &mut Value) {
    let (text, max, window) = catch_up.stored();
    stored["catch_up"] = text.into();
    stored["catch_up_max"] = max.into();
    stored["catch_up_window"] = interval_text(window).into();
}

/// The concurrency key of a payload, if it has one and its kind is linked.
///
/// # Errors
/// The payload is too large or not of this kind, or its jobs are unique.
pub(super) fn key_of(
    kind: &str,
    version: u16,
    args: &Value,
) -> Result<Option<Option<String>>, ScheduleError> {
    let text = args.to_string();
    limits::payload(&text, 0)?;
    let registry = Registry::linked();
    let Some(registration) = registry.of_kind(kind) else { return Ok(None) };
    if registration.policy().unique.is_some() {
        let why = format!(
            "jobs of the kind `{kind}` have a unique key, for which the schedule would have to \
             wait: schedule a job that enqueues them"
        );
        return Err(ScheduleError::Refused(why));
    }
    let key =
        registration.key_of(kind, version, text.as_bytes()).map_err(ScheduleError::Refused)?;
    Ok(Some(key.filter(|_| registration.policy().concurrency.is_some())))
}

/// Changes to a schedule. Fields that are not set stay as they are.
///
/// ```
/// use jobkit::admin::schedules::ScheduleEdit;
///
/// let edit = ScheduleEdit::new().times("30 4 * * * Europe/Berlin").queue("slow");
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "it is given to `ScheduleRef::edit`"]
pub struct ScheduleEdit {
    times: Option<String>,
    catch_up: Option<CatchUp>,
    overlap: Option<Overlap>,
    jitter: Option<Duration>,
    queue: Option<String>,
    priority: Option<i16>,
    pub(super) args: Option<Value>,
}

impl ScheduleEdit {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Its times. The next instant is the first one after now.
    pub fn times(mut self, times: impl Into<String>) -> Self {
        self.times = Some(times.into());
        self
    }

    /// What happens to missed instants.
    pub fn catch_up(mut self, catch_up: CatchUp) -> Self {
        self.catch_up = Some(catch_up);
        self
    }

    /// What happens to instants that overlap with a running job.
    pub fn overlap(mut self, overlap: Overlap) -> Self {
        self.overlap = Some(overlap);
        self
    }

    /// The longest random delay of its jobs; up to a day.
    pub fn jitter(mut self, jitter: Duration) -> Self {
        self.jitter = Some(jitter);
        self
    }

    /// The queue of its jobs; 1 to 128 bytes.
    pub fn queue(mut self, queue: impl Into<String>) -> Self {
        self.queue = Some(queue.into());
        self
    }

    /// The priority of its jobs, from −3, which comes first, to 3. Code then no longer changes
    /// their attempts, tags and metadata either.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = Some(narrowed(priority));
        self
    }

    /// Their payload. If this process has the kind linked, it must decode into its type. If the
    /// schedule has a concurrency key, the kind must be linked.
    pub fn args(mut self, args: Value) -> Self {
        self.args = Some(args);
        self
    }

    /// What to store, except the next instant; and the times, if they change.
    pub(super) fn stored(&self) -> Result<(Value, Option<Times>), ScheduleError> {
        let text = self.times.clone().unwrap_or_else(|| "@daily".to_owned());
        let checked = Schedule::new(text)
            .catch_up(self.catch_up.unwrap_or_default())
            .jitter(self.jitter.unwrap_or_default());
        let times = checked.check().map_err(ScheduleError::Refused)?;
        let mut stored = Value::Object(Map::new());
        if self.times.is_some() {
            stored["times"] = times.to_string().into();
        }
        if let Some(catch_up) = self.catch_up {
            catch_up_of(catch_up, &mut stored);
        }
        if let Some(overlap) = self.overlap {
            stored["overlap"] = overlap.stored().into();
        }
        if let Some(jitter) = self.jitter {
            stored["jitter"] = interval_text(jitter).into();
        }
        if let Some(queue) = &self.queue {
            limits::name("queue", queue, NAME_BYTES)?;
            stored["queue"] = queue.as_str().into();
        }
        if let Some(priority) = self.priority {
            in_range(self.priority)?;
            stored["priority"] = priority.into();
        }
        Ok((stored, self.times.is_some().then_some(times)))
    }
}
