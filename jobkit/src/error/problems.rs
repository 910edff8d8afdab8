use std::fmt;

/// Every problem that keeps a worker from starting or from running what is stored, or jobs from
/// being announced, found in one pass; shown one to a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartProblems(pub(crate) Vec<String>);

impl StartProblems {
    /// The problems, each a sentence that says what to do.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl fmt::Display for StartProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|problem| write!(f, "\n  - {problem}"))
    }
}
