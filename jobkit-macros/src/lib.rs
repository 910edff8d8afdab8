//! The `#[job]` attribute of jobkit. Use it through the `jobkit` crate.

use proc_macro::TokenStream;

/// Declares a struct as a job.
#[proc_macro_attribute]
pub fn job(_arguments: TokenStream, item: TokenStream) -> TokenStream {
    item
}
