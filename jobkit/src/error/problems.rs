use std::fmt;

/// All problems that keep a worker from starting or from reading stored payloads, or jobs from
/// being announced. They are found in one pass and displayed one per line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartProblems(pub(crate) Vec<String>);

impl StartProblems {
    /// The problems, each with what to do about it.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl fmt::Display for StartProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|problem| write!(f, "\n  - {problem}"))
    }
}
