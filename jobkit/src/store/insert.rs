use std::fmt::Write;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::value::RawValue;

use super::new_job::NewJob;

/// Inserts a job that has nothing to wait for; the same with parameters that any driver can send.
pub(super) const ONE: &str = include_str!("sql/jobs_enqueue_one.sql");
const ONE_AS_TEXT: &str = include_str!("sql/jobs_enqueue_one_as_text.sql");

/// An enqueue as one statement that any driver can send: every parameter is text or null, and the
/// first column of its rows is the id of a job.
#[derive(Debug, Clone)]
pub(crate) struct Insert {
    pub(crate) sql: &'static str,
    pub(crate) parameters: Vec<Option<String>>,
}

impl Insert {
    /// Of a job for each kind that subscribes to a topic, with this payload.
    pub(crate) fn publish(
        topic: &str,
        version: u16,
        args: Box<RawValue>,
        metadata: Option<Box<RawValue>>,
    ) -> Self {
        let text = |json| Box::<str>::from(json).into_string();
        let version = Some(version).filter(|version| *version != 1);
        let parameters = vec![
            Some(topic.to_owned()),
            Some(text(args)),
            version.map(|version| version.to_string()),
            metadata.map(text),
        ];
        Self { sql: include_str!("sql/topics_publish.sql"), parameters }
    }
}

/// Of one job. One that is due at once is spared the arrays: that takes half of the server's time
/// for it.
impl From<NewJob> for Insert {
    fn from(job: NewJob) -> Self {
        if job.after.is_some() || job.at.is_some() {
            return Self::from(&[job][..]);
        }
        let NewJob {
            kind,
            version,
            queue,
            priority,
            max_attempts,
            after: _,
            at: _,
            group,
            key,
            dead_letter_key,
            args,
            tags,
            metadata,
            unique,
        } = job;
        let mut parameters = vec![
            Some(kind.to_owned()),
            Some(queue),
            Some(priority.to_string()),
            Some(max_attempts.to_string()),
            group.filter(|_| key.is_some()).map(str::to_owned),
            key,
            dead_letter_key,
            Some(Box::<str>::from(args).into_string()),
            Some(tags).filter(|tags| !tags.is_empty()).map(|tags| array(tags.iter().map(Some))),
            metadata.map(|json| Box::<str>::from(json).into_string()),
            version.map(|version| version.to_string()),
        ];
        let Some(unique) = unique else {
            return Self { sql: ONE_AS_TEXT, parameters };
        };
        parameters.extend([
            Some(unique.scope),
            Some(unique.key),
            Some(unique.holds.to_owned()),
            unique.at_least.map(interval_text),
            unique.on_duplicate.map(str::to_owned),
        ]);
        Self { sql: include_str!("sql/jobs_enqueue_unique_one.sql"), parameters }
    }
}

/// Of any number of jobs; the ids come in their order.
impl From<&[NewJob]> for Insert {
    fn from(jobs: &[NewJob]) -> Self {
        let tags = |job: &NewJob| {
            let tags = Some(&job.tags).filter(|tags| !tags.is_empty());
            tags.map(|tags| serde_json::Value::from(tags.as_slice()).to_string())
        };
        let mut parameters = vec![
            column(jobs, |job| Some(job.kind)),
            column(jobs, |job| Some(&*job.queue)),
            column(jobs, |job| Some(job.priority.to_string())),
            column(jobs, |job| Some(job.max_attempts.to_string())),
            column(jobs, |job| job.after.map(interval_text)),
            column(jobs, |job| job.at.map(time)),
            column(jobs, |job| job.group),
            column(jobs, |job| job.key.as_deref()),
            column(jobs, |job| Some(job.args.get())),
            column(jobs, tags),
            column(jobs, |job| job.metadata.as_ref().map(|json| json.get())),
            column(jobs, |job| job.dead_letter_key.as_deref()),
            column(jobs, |job| job.version.map(|version| version.to_string())),
        ];
        let mut sql = include_str!("sql/jobs_enqueue_as_text.sql");
        if jobs.iter().any(|job| job.unique.is_some()) {
            sql = include_str!("sql/jobs_enqueue_unique.sql");
            parameters.extend([
                column(jobs, |job| Some(&*job.unique.as_ref()?.scope)),
                column(jobs, |job| Some(&*job.unique.as_ref()?.key)),
                column(jobs, |job| Some(job.unique.as_ref()?.holds)),
                column(jobs, |job| job.unique.as_ref()?.at_least.map(interval_text)),
                column(jobs, |job| job.unique.as_ref()?.on_duplicate),
            ]);
        }
        Self { sql, parameters }
    }
}

/// What the jobs have in one column; nothing where none of them has anything.
fn column<'a, T: AsRef<str>>(
    jobs: &'a [NewJob],
    of: impl Fn(&'a NewJob) -> Option<T>,
) -> Option<String> {
    let some = jobs.iter().any(|job| of(job).is_some());
    Some(if some { array(jobs.iter().map(of)) } else { "{}".to_owned() })
}

/// An array as PostgreSQL reads it.
fn array<T: AsRef<str>>(items: impl Iterator<Item = Option<T>>) -> String {
    let mut array = String::from("{");
    for item in items {
        if array.len() > 1 {
            array.push(',');
        }
        let Some(item) = item else {
            array.push_str("null");
            continue;
        };
        array.push('"');
        let mut rest = item.as_ref();
        while let Some(at) = rest.find(['"', '\\']) {
            array.push_str(&rest[..at]);
            array.push('\\');
            array.push_str(&rest[at..=at]);
            rest = &rest[at + 1..];
        }
        array.push_str(rest);
        array.push('"');
    }
    array.push('}');
    array
}

/// Hours, minutes and seconds, which every server and `IntervalStyle` reads alike; 10,000 years at
/// the longest.
pub(crate) fn interval_text(duration: Duration) -> String {
    let micros = super::time::interval(duration).microseconds;
    let (seconds, micros) = (micros / 1_000_000, micros % 1_000_000);
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    let (hours, minutes) = (minutes / 60, minutes % 60);
    let mut text = String::new();
    // Writing to a string does not fail.
    let _written = write!(text, "{hours}:{minutes:02}:{seconds:02}.{micros:06}");
    text
}

/// A time as every `DateStyle` reads it.
fn time(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Micros, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_quoted() {
        let array =
            array([Some("a"), None, Some(""), Some("\"b\\"), Some("null, ö{}")].into_iter());
        assert_eq!(array, "{\"a\",null,\"\",\"\\\"b\\\\\",\"null, ö{}\"}");
        assert_eq!(super::array(std::iter::empty::<Option<&str>>()), "{}");
    }

    /// But for the comment at the top.
    #[test]
    fn drivers_send_the_same_statement_with_casts() {
        let words = |sql: &'static str| -> String {
            let (_, below) = sql.split_once("-- $1 kind").expect("it names its parameters");
            let casts = ["text[]", "int2", "jsonb", "text"];
            let plain = casts.iter().fold(below.to_owned(), |sql, name| {
                sql.replace(&["::pg_catalog.", name].concat(), "")
            });
            plain.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(words(ONE_AS_TEXT), words(ONE));
    }

    #[test]
    fn intervals_are_hours_whatever_their_length() {
        assert_eq!(interval_text(Duration::from_micros(1)), "0:00:00.000001");
        assert_eq!(interval_text(Duration::from_secs(90_061)), "25:01:01.000000");
        assert_eq!(interval_text(Duration::MAX), "87600000:00:00.000000");
    }
}
