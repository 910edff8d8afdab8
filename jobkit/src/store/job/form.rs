//! The statements that store jobs, written from the list of columns.

use std::sync::OnceLock;

use sqlx::error::BoxDynError;
use sqlx::postgres::PgArguments;

use super::{COLUMNS, NewJob, UNIQUE};
use crate::store::record::{Column, Sent, array, record};

/// The variant of the statement. Each has one text within a build, so that servers can keep it
/// prepared.
#[derive(Clone, Copy)]
pub(super) struct Form {
    /// Any number of jobs, rather than one.
    many: bool,
    /// Some jobs have unique keys, so the answer says what became of each.
    unique: bool,
    /// Parameters are text, so that any driver can send them. Casts cost a twentieth of the
    /// server's work.
    text: bool,
}

impl Form {
    pub(super) fn of(jobs: &[NewJob], text: bool) -> Self {
        let unique = jobs.iter().any(|job| job.unique.is_some());
        Self { many: jobs.len() != 1, unique, text }
    }

    pub(super) fn columns(self) -> impl Iterator<Item = &'static Column<NewJob>> {
        COLUMNS.iter().chain(UNIQUE.iter().take_while(move |_| self.unique))
    }

    /// Its text. The first column of the answer is `job_id`, the second what became of it, if any
    /// has a unique key. It runs in sessions of the application, whatever their `search_path`.
    pub(super) fn sql(self) -> &'static str {
        static TEXTS: [OnceLock<String>; 8] = [const { OnceLock::new() }; 8];
        let Self { many, unique, text } = self;
        let at = usize::from(many) * 4 + usize::from(unique) * 2 + usize::from(text);
        TEXTS[at].get_or_init(|| self.written())
    }

    fn written(self) -> String {
        let (function, sent) = match (self.many, self.text) {
            (false, false) => ("new_job", Sent::One),
            (false, true) => ("new_job", Sent::OneAsText),
            (true, false) => ("new_jobs", Sent::Many),
            (true, true) => ("new_jobs", Sent::ManyAsText),
        };
        let [before, behind] = match (self.many, self.unique) {
            // A single job saves a function scan.
            (false, false) => ["select jobkit.store_one(", ") as job_id"],
            (false, true) => ["select * from jobkit.store_unique(", ")"],
            (true, false) => ["select * from jobkit.store_all(", ") as e (job_id)"],
            (true, true) => ["select * from jobkit.enqueue_unique(", ")"],
        };
        let jobs = record(function, self.columns(), 1, sent);
        [before, &jobs, behind, " where jobkit.enqueue_form_1()"].concat()
    }

    /// The parameters, as sqlx sends them.
    pub(super) fn add(self, jobs: &[NewJob], to: &mut PgArguments) -> Result<(), BoxDynError> {
        self.columns().try_for_each(|column| match jobs {
            [job] => (column.one)(job, to),
            _ => (column.all)(jobs, to),
        })
    }

    /// The parameters as text.
    pub(super) fn texts(self, jobs: &[NewJob]) -> Vec<Option<String>> {
        let text = |column: &Column<NewJob>| match jobs {
            [job] => (column.text)(job).map(String::from),
            _ => Some(items(jobs, column)),
        };
        self.columns().map(text).collect()
    }
}

/// A column of jobs; an empty array if none has a value.
fn items(jobs: &[NewJob], column: &Column<NewJob>) -> String {
    let some = jobs.iter().any(|job| (column.item_text)(job).is_some());
    array(jobs.iter().take_while(|_| some).map(column.item_text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_send_the_same_statement_with_casts() {
        for (many, unique) in [(false, false), (false, true), (true, false), (true, true)] {
            let [sent, text] = [false, true].map(|text| Form { many, unique, text }.sql());
            assert!(text.starts_with(sent.split('$').next().unwrap_or(sent)), "{text}");
            let words = |sql: &str| {
                let words = sql.split(", ").map(|word| word.split("::").next().unwrap_or(word));
                words.map(|word| word.replace(')', "")).collect::<Vec<_>>()
            };
            let (sent, text) = (words(sent), words(text));
            assert_eq!(sent[..sent.len() - 1], text[..text.len() - 1]);
        }
    }
}
