//! One schedule: looking it up, making it, and changing it.

use chrono::{DateTime, Utc};

use super::edit::{self, ScheduleEdit, ScheduleError, ScheduledJob};
use super::schedule::{ScheduleDetail, ScheduleRun};
use super::statements;
use crate::JobId;
use crate::admin::AdminError;
use crate::admin::encryption::sealed;
use crate::admin::{Admin, let_hands_change};
use crate::error::DatabaseError;
use crate::limits::{self, NAME_BYTES};
use crate::schedule::{Schedule, Times, decide};
use crate::store::{self, Link, due_schedules};

/// How often a change waits for workers that are deciding instants of a schedule.
const TRIES: u32 = 10;

/// A schedule by its name, whether it exists or not. [`Admin::schedule`] makes it.
///
/// ```no_run
/// # async fn f(admin: jobkit::Admin) -> Result<(), jobkit::admin::AdminError> {
/// let report = admin.schedule("report-7");
/// if report.pause("the numbers are wrong").await?.is_some() {
///     println!("its last runs: {:?}", report.runs(None, 10).await?);
/// }
/// # Ok(()) }
/// ```
///
/// # Errors
/// Every method fails with [`AdminError::Invalid`] for a name that is empty or longer than 128
/// bytes. A name without a schedule is no error: each method says what it then returns. What they
/// share otherwise is in the errors of [`Admin`].
#[derive(Debug, Clone, Copy)]
#[must_use = "nothing is asked or done until one of its methods is awaited"]
pub struct ScheduleRef<'a> {
    admin: &'a Admin,
    name: &'a str,
}

impl Admin {
    /// A schedule by its name, to look it up, make it or change it.
    pub fn schedule<'a>(&'a self, name: &'a str) -> ScheduleRef<'a> {
        ScheduleRef { admin: self, name }
    }
}

impl ScheduleRef<'_> {
    /// The schedule, with the job it enqueues; `None` if there is none or it was deleted.
    pub async fn get(self) -> Result<Option<ScheduleDetail>, AdminError> {
        let Self { admin, name } = self;
        limits::name("name of a schedule", name, NAME_BYTES)?;
        let mut link = admin.link();
        let summary = link.call(&statements::schedules("", 1, Some(name))).await?.pop();
        let job = link.call(&statements::schedule_job(name)).await?;
        link.close().await;
        Ok(summary.zip(job).map(|(summary, job)| job.of(summary)))
    }

    /// The runs of the schedule, that is its instants and what became of them: 1 to 500 before a
    /// time, the latest first. History is kept for 30 days, or as
    /// [`Worker::keep_runs`](crate::Worker::keep_runs) says, also for deleted schedules.
    pub async fn runs(
        self,
        before: Option<DateTime<Utc>>,
        limit: u32,
    ) -> Result<Vec<ScheduleRun>, AdminError> {
        limits::name("name of a schedule", self.name, NAME_BYTES)?;
        let limit = limit.clamp(1, 500).into();
        self.admin.ask(&statements::schedule_runs(self.name, before, limit)).await
    }

    /// Creates the schedule, which no deploy changes. Returns whether there was none of this name;
    /// a deleted one does not count.
    ///
    /// ```no_run
    /// # async fn f(admin: jobkit::Admin) -> anyhow::Result<()> {
    /// use jobkit::admin::schedules::ScheduledJob;
    ///
    /// let job = ScheduledJob::new("report", serde_json::json!({"region": 7}));
    /// admin.schedule("report-7").create("0 3 * * * Europe/Berlin", job).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`ScheduleError`] says which.
    pub async fn create(
        self,
        schedule: impl Into<Schedule>,
        job: ScheduledJob,
    ) -> Result<bool, ScheduleError> {
        let Self { admin, name } = self;
        let (kind, args) = job.payload();
        let (mut stored, times) = job.stored(name, &schedule.into())?;
        let mut link = admin.link();
        let sealed = sealed(&mut link, &kind, &args).await?;
        let args = sealed.unwrap_or(args).to_string();
        stored["next_at"] = next(&mut link, &times).await?.into();
        let create = statements::create_schedule(&stored, &args, admin.actor());
        let created = link.call(&create).await.map_err(ScheduleError::of)?;
        link.close().await;
        Ok(created)
    }

    /// Changes the schedule. Code that declares the schedule does not undo these changes. No
    /// instant fires twice. Returns whether there is such a schedule.
    ///
    /// # Errors
    /// [`ScheduleError`] says which.
    pub async fn edit(self, mut edit: ScheduleEdit) -> Result<bool, ScheduleError> {
        let Self { admin, name } = self;
        limits::name("name of a schedule", name, NAME_BYTES)?;
        let (mut stored, times) = edit.stored()?;
        let mut link = admin.link();
        if let Some(args) = &edit.args {
            let kind = link.call(&statements::schedule_kind(name)).await?;
            let Some((kind, version)) = kind else { return Ok(false) };
            if let Some(key) = edit::key_of(&kind, version.cast_unsigned(), args)? {
                stored["concurrency_key"] = key.into();
            }
            if let Some(sealed) = sealed(&mut link, &kind, args).await? {
                edit.args = Some(sealed);
            }
        }
        let args = edit.args.map(|args| args.to_string());
        for attempt in 0..=TRIES {
            let_hands_change(attempt).await;
            let mut missing = attempt == TRIES;
            if let Some(times) = &times {
                // New times begin after now.
                missing |= !decide_due(&mut link, name).await?;
                stored["next_at"] = next(&mut link, times).await?.into();
            }
            let change =
                statements::edit_schedule(name, &stored, args.as_deref(), admin.actor(), missing);
            if let Some(found) = link.call(&change).await.map_err(ScheduleError::of)? {
                link.close().await;
                return Ok(found);
            }
        }
        Err(AdminError::Busy.into())
    }

    /// Pauses the schedule: its instants are recorded, not fired. `reason` is free text for the
    /// audit, 4,096 bytes at most. Returns whether it was not paused before; `None` if there is no
    /// such schedule.
    pub async fn pause(self, reason: &str) -> Result<Option<bool>, AdminError> {
        let Self { admin, name } = self;
        limits::name("name of a schedule", name, NAME_BYTES)?;
        limits::reason(reason)?;
        let actor = admin.actor().unwrap_or_default();
        admin.ask(&statements::pause_schedule(name, actor, reason)).await
    }

    /// Resumes the schedule. Instants that the pause skipped stay skipped. Returns whether it was
    /// paused; `None` if there is no such schedule.
    ///
    /// # Errors
    /// [`AdminError::Busy`] if workers keep it busy.
    pub async fn resume(self) -> Result<Option<bool>, AdminError> {
        let Self { admin, name } = self;
        limits::name("name of a schedule", name, NAME_BYTES)?;
        let mut link = admin.link();
        for attempt in 0..TRIES {
            let_hands_change(attempt).await;
            let resumed = link.call(&statements::resume_schedule(name, admin.actor())).await?;
            if resumed.as_deref() != Some("due") {
                link.close().await;
                return Ok(resumed.map(|resumed| resumed == "resumed"));
            }
            decide_due(&mut link, name).await?;
        }
        Err(AdminError::Busy)
    }

    /// Enqueues the job of the schedule now, even while it is paused or its last job runs. Its
    /// times stay as they are. Returns the job; `None` if there is no such schedule.
    pub async fn run(self) -> Result<Option<JobId>, AdminError> {
        let Self { admin, name } = self;
        limits::name("name of a schedule", name, NAME_BYTES)?;
        Ok(admin.ask(&statements::run_schedule(name, admin.actor())).await?.map(JobId))
    }

    /// Deletes the schedule; its jobs and its history stay. One that code declares does not come
    /// back with the next worker, only with [`create`](Self::create). Returns whether there was
    /// one.
    pub async fn delete(self) -> Result<bool, AdminError> {
        let Self { admin, name } = self;
        limits::name("name of a schedule", name, NAME_BYTES)?;
        admin.ask(&statements::delete_schedule(name, admin.actor())).await
    }
}

/// The first instant after now, by the database's clock.
async fn next(link: &mut Link, times: &Times) -> Result<Option<String>, DatabaseError> {
    let now = link.call(&store::clock()).await?;
    Ok(times.next_after(now).map(|next| next.to_rfc3339()))
}

/// Decides the due instants of a schedule, as a worker does. Returns whether its times can be read.
async fn decide_due(link: &mut Link, name: &str) -> Result<bool, DatabaseError> {
    let Some(due) = link.call(&due_schedules(1, &[], Some(name))).await?.pop() else {
        return Ok(true);
    };
    let Ok(times) = due.times.parse::<Times>() else { return Ok(false) };
    link.call(&store::fire(&[decide(&due, &times)])).await?;
    Ok(true)
}
