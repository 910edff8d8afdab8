//! The output of a command, as text and as JSON.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use jobkit::Admin;
use jobkit::admin::AdminError;
use jobkit::admin::dead_letters::ReplayError;
use jobkit::admin::jobs::ByNameError;
use jobkit::enqueue::EnqueueError;
use jobkit::error::{
    ConnectError, DatabaseError, InvalidAddress, MigrateError, SchemaError, StartError,
};
use serde_json::Value;

use crate::format::errors::{is_forbidden, is_state};
use crate::format::invisible;

/// The result of a command.
pub(super) struct Answer {
    json: String,
    text: String,
    code: u8,
}

impl Answer {
    /// A result as JSON and as text; control and invisible characters in the text are escaped.
    pub(super) fn new(json: impl ToString, text: impl Into<String>) -> Self {
        Self { json: json.to_string(), text: lines(&text.into()), code: 0 }
    }

    /// Something that was done, as a sentence and as JSON.
    pub(super) fn done(json: Value, sentence: &str) -> Self {
        Self::new(json, plain(sentence))
    }

    /// No output beyond what was already printed.
    pub(super) fn nothing() -> Self {
        Self { json: String::new(), text: String::new(), code: 0 }
    }

    /// The same answer, with exit status 1 if something is wrong.
    pub(super) fn wrong(self, wrong: bool) -> Self {
        Self { code: u8::from(wrong), ..self }
    }

    pub(super) fn print(self, as_json: bool) -> ExitCode {
        let Self { json, text, code } = self;
        let output = if as_json { invisible::escaped_in(&json) } else { text };
        if output.is_empty() {
            return ExitCode::from(code);
        }
        // A reader that stops early, such as `head`, is not an error.
        let written = std::io::stdout().write_all((output.trim_end().to_owned() + "\n").as_bytes());
        match written {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                Failure::refused(format!("cannot write the answer: {error}")).print()
            }
            _ => ExitCode::from(code),
        }
    }
}

/// Why a command failed.
#[derive(Debug)]
pub(super) struct Failure {
    text: String,
    code: u8,
    /// Whether it waited too long for a lock.
    locked_out: bool,
}

impl Failure {
    /// The command line is wrong.
    pub(super) fn usage(text: impl Into<String>) -> Self {
        Self { text: text.into(), code: 2, locked_out: false }
    }

    /// The command line is valid, but the command cannot be carried out.
    pub(super) fn refused(text: impl Into<String>) -> Self {
        Self { text: text.into(), code: 1, locked_out: false }
    }

    /// Something was not found.
    pub(super) fn none(what: &str) -> Self {
        Self::refused(format!("there is no {what}: it never existed or is no longer kept"))
    }

    /// Adds the cause if commits are waiting for a standby: they hold their locks meanwhile.
    pub(super) async fn explained(mut self, admin: &Admin) -> Self {
        if self.locked_out
            && let Ok(Some(awaited)) = admin.standby_awaited().await
        {
            self.text = format!("{}: {}; {}", self.text, awaited.found(), awaited.advice());
        }
        self
    }

    pub(super) fn print(self) -> ExitCode {
        tell(&format!("jobkit: {}", self.text));
        ExitCode::from(self.code)
    }
}

impl From<AdminError> for Failure {
    fn from(error: AdminError) -> Self {
        match error {
            AdminError::Database(error) => error.into(),
            AdminError::Invalid(error) => Self::usage(error.to_string()),
            error => {
                let locked_out = matches!(error, AdminError::Busy);
                Self { locked_out, ..Self::refused(error.to_string()) }
            }
        }
    }
}

impl From<DatabaseError> for Failure {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::Schema(SchemaError::Missing | SchemaError::Older { .. }) => {
                Self::refused(format!("{error} (or `jobkit migrate`)"))
            }
            error if is_forbidden(&error) => Self::refused(format!(
                "the database role lacks the privilege for this ({error}); connect as a role that \
                 has it"
            )),
            error => {
                let locked_out = is_state(&error, "55P03");
                Self { locked_out, ..Self::refused(error.to_string()) }
            }
        }
    }
}

/// Converts errors with a variant for database errors.
macro_rules! of_database {
    ($($error:ident),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                match error {
                    $error::Database(error) => error.into(),
                    error => Self::refused(error.to_string()),
                }
            }
        }
    )*};
}

of_database!(EnqueueError, MigrateError, StartError);

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Database(error) => error.into(),
            error => Self::usage(error.to_string()),
        }
    }
}

impl From<InvalidAddress> for Failure {
    fn from(error: InvalidAddress) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<ByNameError> for Failure {
    fn from(error: ByNameError) -> Self {
        match error {
            ByNameError::Failed(error) => error.into(),
            error => Self::refused(error.to_string()),
        }
    }
}

impl From<ReplayError> for Failure {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::Failed(error) => error.into(),
            error => Self::refused(error.to_string()),
        }
    }
}

/// Prints a line for people to stderr.
pub(super) fn tell(line: &str) {
    // If stderr is closed, there is nowhere to report it.
    let _told = writeln!(std::io::stderr(), "{}", lines(line));
}

/// A text on one line, with invisible characters escaped.
pub(super) fn plain(text: &str) -> String {
    written_out(text, |c| c == '\n' || c == '\t')
}

/// The same, but line breaks are kept.
pub(super) fn lines(text: &str) -> String {
    written_out(text, |c| c == '\t')
}

fn written_out(text: &str, also: impl Fn(char) -> bool) -> String {
    let mut written = String::with_capacity(text.len());
    for c in text.chars() {
        if invisible::is_invisible(c) || also(c) {
            written.extend(c.escape_default());
        } else {
            written.push(c);
        }
    }
    written
}

/// The first line of an error, cut to fit a row.
pub(super) fn brief(text: &str) -> String {
    const LETTERS: usize = 60;
    let line = text.lines().next().unwrap_or("");
    let end = line.char_indices().nth(LETTERS).map_or(line.len(), |(end, _)| end);
    let more = if end < line.len() { "…" } else { "" };
    [&line[..end], more].concat()
}

/// Rows under their headings, in columns.
pub(super) fn table<const N: usize>(headings: [&str; N], rows: Vec<[String; N]>) -> String {
    if rows.is_empty() {
        return "None.\n".to_owned();
    }
    let headings = headings.map(str::to_uppercase);
    columns(&std::iter::once(headings).chain(rows).collect::<Vec<_>>())
}

/// Names and values, in two columns.
pub(super) fn fields(fields: Vec<(&str, String)>) -> String {
    let row = |(name, value): (&str, String)| [name.to_owned(), value];
    columns(&fields.into_iter().filter(|(_, value)| !value.is_empty()).map(row).collect::<Vec<_>>())
}

fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let rows: Vec<[String; N]> =
        rows.iter().map(|row| row.each_ref().map(|cell| plain(cell))).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..N).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            write!(line, "{cell:width$}  ").unwrap_or_default();
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_written_out() {
        let rows = vec![["a\u{1b}[2J\nb".to_owned(), "\u{9b}x\u{202e}".to_owned()]];
        let text = table(["one", "two"], rows);
        assert_eq!(text, "ONE            TWO\na\\u{1b}[2J\\nb  \\u{9b}x\\u{202e}\n");
        assert_eq!(lines("a\n\tb\r"), "a\n\\tb\\r");
    }

    #[test]
    fn a_long_error_is_cut_between_letters() {
        assert_eq!(brief("short\nand more"), "short");
        assert_eq!(brief(&"ä".repeat(61)), "ä".repeat(60) + "…");
    }
}
