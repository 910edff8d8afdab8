use std::fmt::Display;

use quote::ToTokens;

/// The mistakes found so far. Every stage adds its own, and all are reported together.
#[derive(Default)]
pub(crate) struct Mistakes(Option<syn::Error>);

impl Mistakes {
    /// Adds `message`, underlining `tokens`.
    pub(crate) fn add(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(first) => first.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// The value of a successful step; a failed one leaves its error here.
    pub(crate) fn sift<T>(&mut self, step: syn::Result<T>) -> Option<T> {
        step.map_err(|error| self.push(error)).ok()
    }

    /// All of them as one error; `None` when there were none.
    pub(crate) fn into_error(self) -> Option<syn::Error> {
        self.0
    }
}
