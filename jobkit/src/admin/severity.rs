/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Severity {
    /// Good to know.
    Note,
    /// It costs speed or safety, or will.
    Warning,
    /// Jobs do not run, or what was promised does not hold.
    Critical,
}

impl Severity {
    /// Its name, as everything outside Rust has it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}
