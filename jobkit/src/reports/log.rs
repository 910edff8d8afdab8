use std::cell::RefCell;
use std::fmt::{self, Write};
use std::sync::{Arc, OnceLock, Weak};

use chrono::Utc;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::context::{Attempt, Line, Report, shown};
use crate::redact::{WIDEST, scrubbed};

/// How many bytes of a line are kept.
const LINE_BYTES: usize = 500;
/// How many bytes of a line are searched for hidden values.
const LOOKED_AT: usize = 16 * 1024;
/// How many bytes of a target are kept.
const TARGET_BYTES: usize = 100;

/// A [`tracing_subscriber`] layer that keeps the last 50 lines that each attempt logs. The worker
/// writes them with its heartbeat, and the page of the job, the API and `jobkit jobs show` show
/// them. Use it next to the layer that prints:
///
/// ```
/// use jobkit::report::AttemptLog;
/// use tracing_subscriber::prelude::*;
///
/// tracing_subscriber::registry()
///     .with(tracing_subscriber::fmt::layer())
///     .with(AttemptLog::new())
///     .init();
/// ```
///
/// Everything that is logged within the attempt's span is kept, also in tasks that enter the span
/// ([`JobContext::span`](crate::JobContext::span)). A line is cut at 500 bytes; the values of
/// fields that the kind redacts are removed from it, as from errors. Filter it like any other
/// layer, but let the span `jobkit.run` through, which has the level INFO and the target
/// `jobkit::worker`.
///
/// Lines of a job that succeeds and is not kept are not written, unless it runs for longer than a
/// heartbeat. The others are kept as [`Worker::keep_reports`](crate::Worker::keep_reports) says.
#[derive(Debug)]
pub struct AttemptLog {
    level: LevelFilter,
}

impl AttemptLog {
    /// Keeps lines of level INFO and above.
    #[must_use]
    pub fn new() -> Self {
        Self { level: LevelFilter::INFO }
    }

    /// Keeps lines of this level and above.
    #[must_use]
    pub fn level(self, level: LevelFilter) -> Self {
        Self { level }
    }
}

impl Default for AttemptLog {
    fn default() -> Self {
        Self::new()
    }
}

/// The attempt of a span, once that is known.
type Whose = Arc<OnceLock<Weak<Attempt>>>;

thread_local! {
    /// Of the attempt's span that was just created on this thread.
    static MADE: RefCell<Option<Whose>> = const { RefCell::new(None) };
}

/// The span that was just created belongs to this attempt.
pub(crate) fn logged_by(attempt: &Arc<Attempt>) {
    if let Some(whose) = MADE.take() {
        let _first = whose.set(Arc::downgrade(attempt));
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for AttemptLog {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let metadata = attributes.metadata();
        if metadata.name() == "jobkit.run"
            && metadata.target().starts_with("jobkit::worker")
            && let Some(span) = context.span(id)
        {
            let whose = Whose::default();
            span.extensions_mut().replace(Arc::clone(&whose));
            MADE.set(Some(whose));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if *event.metadata().level() > self.level {
            return;
        }
        let Some(scope) = context.event_scope(event) else { return };
        for span in scope {
            let whose = span.extensions().get::<Whose>().cloned();
            if let Some(whose) = whose {
                if let Some(attempt) = whose.get().and_then(Weak::upgrade) {
                    let line = line(event, attempt.report.hidden());
                    Report::line(&attempt, line);
                }
                return;
            }
        }
    }
}

fn line(event: &Event<'_>, hidden: &[String]) -> Line {
    let mut text = Text::default();
    event.record(&mut text);
    let metadata = event.metadata();
    Line {
        at: Utc::now().timestamp_micros(),
        level: match *metadata.level() {
            Level::ERROR => "ERROR",
            Level::WARN => "WARN",
            Level::INFO => "INFO",
            Level::DEBUG => "DEBUG",
            Level::TRACE => "TRACE",
        },
        target: shown(metadata.target(), &[], TARGET_BYTES),
        text: shown(&text.finish(hidden), hidden, LINE_BYTES),
    }
}

/// The message, and the fields behind it.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
    /// Something was too long to be searched.
    cut: bool,
}

impl Text {
    /// The text. If it was cut, a hidden value may have been cut, too: what may be its beginning is
    /// removed as well.
    fn finish(self, hidden: &[String]) -> String {
        let text = self.message + &self.fields;
        if !self.cut {
            return text;
        }
        let longest = hidden.iter().map(String::len).max().unwrap_or(0);
        let mut text = scrubbed(&text, hidden);
        text.truncate(text.floor_char_boundary(text.len().saturating_sub(WIDEST * longest)));
        text
    }

    fn write(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        let room = LOOKED_AT.saturating_sub(self.message.len() + self.fields.len());
        let is_message = field.name() == "message";
        let text = if is_message { &mut self.message } else { &mut self.fields };
        let mut text = Bounded { text, room };
        let written = match is_message {
            true => text.write_fmt(value),
            false => write!(text, " {}={value}", field.name()),
        };
        self.cut |= written.is_err();
    }
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.write(field, format_args!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.write(field, format_args!("{value}"));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.write(field, format_args!("{value}"));
    }
}

/// A writer that takes this many bytes, and no more.
struct Bounded<'a> {
    text: &'a mut String,
    room: usize,
}

impl fmt::Write for Bounded<'_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let fits = part.floor_char_boundary(self.room);
        self.text.push_str(&part[..fits]);
        self.room -= fits;
        if fits < part.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
