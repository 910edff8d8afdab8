//! Scopes of brakes.

use jobkit::admin::brakes::Scope;

use crate::failure::Failure;

/// A scope by its word and the name of the queue or the kind.
pub(crate) fn scope(word: &str, name: &str) -> Result<Scope, Failure> {
    let scope = Scope::of(word, name);
    scope.ok_or_else(|| Failure::Invalid("A scope is all, kind or queue.".into()))
}
