//! The `#[job]` attribute of jobkit. Use it through the `jobkit` crate, which documents it.
//!
//! An expansion passes four stages, one file each: `parse` (tokens to arguments), `model`
//! (arguments to meaning), `expand` (meaning to code) or, after a mistake, `fallback`.

mod backoff;
mod chunk;
mod duration;
mod encrypt;
mod expand;
mod fallback;
mod key;
mod keys;
mod kind;
mod literal;
mod mistakes;
mod model;
mod parse;
mod range;
mod rate;
mod redact;
mod result;
mod schedule;
mod subject;
mod suggest;
mod synonyms;
#[cfg(test)]
mod tests;
mod topic;
mod unique;
mod version;

use proc_macro2::TokenStream;
use quote::quote;

use crate::mistakes::Mistakes;
use crate::model::JobModel;
use crate::parse::Args;
use crate::subject::Subject;

#[expect(missing_docs, reason = "its documentation is in `jobkit`, where the examples compile")]
#[proc_macro_attribute]
pub fn job(
    arguments: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    declare(arguments.into(), item.into()).into()
}

/// Runs the stages. All of them report before the expansion gives up, so that one compilation shows
/// every mistake.
fn declare(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let mut mistakes = Mistakes::default();
    let args = Args::parse(arguments, &mut mistakes);
    let subject = Subject::parse(item, &mut mistakes);
    let model =
        subject.name.as_ref().map(|name| JobModel::new(name, &subject.fields, args, &mut mistakes));
    match (model, mistakes.into_error()) {
        (Some(model), None) => {
            let expansion = expand::expand(&model);
            let item = subject.item;
            quote!(#item #expansion)
        }
        (_, error) => fallback::fallback(&subject, error.as_ref()),
    }
}
