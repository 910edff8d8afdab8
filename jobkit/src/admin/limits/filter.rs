use super::Scope;

/// Which limits [`Admin::limits`](crate::Admin::limits) lists: those that meet every condition set
/// here.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimitFilter {
    scopes: Vec<&'static str>,
    name: Option<String>,
    paused: bool,
}

impl LimitFilter {
    /// All limits.
    #[must_use]
    pub fn all() -> Self {
        Self { scopes: Scope::WORDS.to_vec(), name: None, paused: false }
    }

    /// Only those of these scopes, by their [names](Scope::WORDS).
    #[must_use]
    pub fn of(mut self, words: &[&str]) -> Self {
        self.scopes.retain(|word| words.contains(word));
        self
    }

    /// All except those of single keys, of which there may be many.
    #[must_use]
    pub fn without_keys(self) -> Self {
        self.of(&Scope::WORDS[..5])
    }

    /// Only those with this name, of a queue, kind, group or limiter; keys are found by their
    /// group.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Only those that are paused.
    #[must_use]
    pub fn paused(mut self) -> Self {
        self.paused = true;
        self
    }

    /// The words of the scopes but that of keys, and whether keys are asked for.
    pub(super) fn scopes(&self) -> (Vec<&'static str>, bool) {
        let scopes: Vec<_> = self.scopes.iter().copied().filter(|word| *word != "key").collect();
        let keys = scopes.len() < self.scopes.len();
        (scopes, keys)
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub(super) fn only_paused(&self) -> bool {
        self.paused
    }
}
