//! The form of a schedule: its fields and the mistakes in them.

use std::collections::BTreeMap;
use std::time::Duration;

use jobkit::admin::schedules::ScheduleDetail;
use jobkit::schedule::{CatchUp, Overlap, Times};
use serde_json::Value;

use super::fields::Fields;
use crate::format::json;

const FIELDS: [&str; 12] = [
    "name",
    "times",
    "kind",
    "args",
    "queue",
    "concurrency_key",
    "priority",
    "catch_up",
    "max",
    "window",
    "overlap",
    "jitter",
];

/// The texts of the fields and their error messages; `""` is the form as a whole.
pub(crate) struct ScheduleForm {
    texts: BTreeMap<&'static str, String>,
    mistakes: BTreeMap<&'static str, String>,
}

/// The values of the fields, if there is no mistake.
pub(crate) struct Read {
    pub(crate) times: Times,
    /// `None` where the field is empty.
    pub(crate) args: Option<Value>,
    pub(crate) priority: Option<i32>,
    pub(crate) catch_up: CatchUp,
    pub(crate) overlap: Overlap,
    pub(crate) jitter: Duration,
}

impl ScheduleForm {
    /// The form with its initial values.
    pub(crate) fn empty() -> Self {
        let texts = BTreeMap::from([
            ("catch_up", "latest".to_owned()),
            ("overlap", "allow".to_owned()),
            ("jitter", "0".to_owned()),
        ]);
        Self { texts, mistakes: BTreeMap::new() }
    }

    /// The form as it was submitted.
    pub(crate) fn sent(request: &Fields) -> Self {
        let text = |field: &'static str| (field, request.field(field).unwrap_or("").to_owned());
        Self { texts: FIELDS.into_iter().map(text).collect(), mistakes: BTreeMap::new() }
    }

    /// The form of an existing schedule. The payload is left empty, since not everybody may see it.
    pub(crate) fn of(schedule: &ScheduleDetail) -> Self {
        let it = &schedule.summary;
        let seconds = |time: Duration| time.as_secs_f64().to_string();
        let mut form = Self::empty();
        let catch_up = match it.catch_up {
            CatchUp::None => "none",
            CatchUp::All { max, window } => {
                form.texts.insert("max", max.to_string());
                form.texts.insert("window", seconds(window));
                "all"
            }
            _ => "latest",
        };
        let skips = it.overlap == Overlap::SkipIfRunning;
        form.texts.extend([
            ("name", it.name.clone()),
            ("times", it.times.clone()),
            ("kind", it.kind.clone()),
            ("queue", it.queue.clone()),
            ("priority", schedule.priority.to_string()),
            ("catch_up", catch_up.to_owned()),
            ("overlap", if skips { "skip_if_running" } else { "allow" }.to_owned()),
            ("jitter", seconds(it.jitter)),
        ]);
        form
    }

    /// The text of a field.
    pub(crate) fn text(&self, field: &str) -> &str {
        self.texts.get(field).map_or("", String::as_str)
    }

    /// The text of a field, unless it is empty.
    pub(crate) fn given(&self, field: &str) -> Option<&str> {
        Some(self.text(field)).filter(|text| !text.is_empty())
    }

    /// The mistake in a field, if any.
    pub(crate) fn mistake(&self, field: &str) -> &str {
        self.mistakes.get(field).map_or("", String::as_str)
    }

    /// Records the mistake in a field.
    pub(crate) fn blame(&mut self, field: &'static str, why: impl Into<String>) {
        self.mistakes.insert(field, why.into());
    }

    /// Reads the fields; `None` after recording a mistake.
    pub(crate) fn read(&mut self) -> Option<Read> {
        let times = self.check("times", |text| text.parse().map_err(sentence));
        let args = self.check("args", |text| {
            let not_json = |error| format!("This is not JSON: {error}.");
            (!text.is_empty()).then(|| json::read(text.as_bytes()).map_err(not_json)).transpose()
        });
        let priority = self.check("priority", priority);
        let catch_up = self.catch_up();
        let overlap = self.check("overlap", |text| match text {
            "allow" => Ok(Overlap::Allow),
            "skip_if_running" => Ok(Overlap::SkipIfRunning),
            _ => Err("Choose one of the two.".to_owned()),
        });
        let jitter = self.check("jitter", seconds);
        let (times, args, priority) = (times?, args?, priority?);
        let (catch_up, overlap, jitter) = (catch_up?, overlap?, jitter?);
        Some(Read { times, args, priority, catch_up, overlap, jitter })
    }

    fn catch_up(&mut self) -> Option<CatchUp> {
        match self.text("catch_up") {
            "none" => Some(CatchUp::None),
            "latest" => Some(CatchUp::Latest),
            "all" => {
                let max = self.check("max", |text| {
                    let max = text.parse().ok().filter(|max| (1..=1000).contains(max));
                    max.ok_or_else(|| "This must be a number from 1 to 1000.".to_owned())
                });
                let window = self.check("window", seconds);
                Some(CatchUp::All { max: max?, window: window? })
            }
            _ => {
                self.blame("catch_up", "Choose one of the three.");
                None
            }
        }
    }

    fn check<T>(
        &mut self,
        field: &'static str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        match read(self.text(field).trim()) {
            Ok(value) => Some(value),
            Err(why) => {
                self.blame(field, why);
                None
            }
        }
    }
}

fn sentence(error: impl ToString) -> String {
    format!("{}.", error.to_string().trim_end_matches('.'))
}

fn priority(text: &str) -> Result<Option<i32>, String> {
    let number = text.parse().ok().filter(|number| (-3..=3).contains(number));
    match (text, number) {
        ("", _) => Ok(None),
        (_, Some(number)) => Ok(Some(number)),
        _ => Err("This must be a number from −3 to 3.".to_owned()),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let time = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.ok_or_else(|| "This must be a number of seconds.".to_owned())
}
