//! `subscribes`: a job that wraps the payload of a topic.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Type;
use syn::spanned::Spanned;

use crate::mistakes::Mistakes;
use crate::parse::{Args, Given};
use crate::redact::Fields;

/// The topic that a job subscribes to.
pub(crate) fn read(args: &mut Args, fields: &Fields, mistakes: &mut Mistakes) -> Option<Type> {
    let name = &args.subscribes.as_ref()?.name;
    refuse_keys(args, mistakes);
    for (given, said) in [
        (args.version.as_ref().map(|given| &given.name), "const VERSION: u16 = 2;"),
        (args.redact.as_ref().map(|_| name), "const REDACT: &'static [&'static str] = &[…];"),
    ] {
        if let Some(given) = given {
            let message = format_args!(
                "`version` and `redact` are the same for every subscriber of a topic: set them in \
                 its `impl Topic`, as `{said}`"
            );
            mistakes.add(given, message);
        }
    }
    if let Some(encrypt) = args.encrypt.take() {
        let message = "a job that subscribes cannot `encrypt`, since every subscriber gets the \
                       payload as published: publish an id, or let this job enqueue another one \
                       that has `encrypt`";
        mistakes.add(encrypt.name, message);
    }
    let wrapped = fields.wrapped().cloned();
    if wrapped.is_none() {
        let message = "a job that subscribes is a tuple struct with one field, whose type is the \
                       topic: `struct SendReceipt(OrderPaid);`";
        mistakes.add(name, message);
    }
    wrapped
}

/// Publishing stores the job without knowing its type, which would compute keys.
fn refuse_keys(args: &Args, mistakes: &mut Mistakes) {
    fn name<T>(given: Option<&Given<T>>) -> Option<&Ident> {
        given.map(|given| &given.name)
    }
    let keys = [
        name(args.dead_letter_key.as_ref()),
        name(args.concurrency_key.as_ref()),
        name(args.rate.as_ref()),
        name(args.unique_key.as_ref()),
        name(args.coalesce_key.as_ref()),
    ];
    for name in keys.into_iter().flatten() {
        let message = format_args!(
            "a job that subscribes cannot have `{name}`, since publishers do not know its type: \
             let it enqueue another job that has `{name}`"
        );
        mistakes.add(name, message);
    }
}

/// The policy of a job that subscribes. Errors about the type underline it.
pub(crate) fn policy(topic: &Type, policy: &TokenStream) -> TokenStream {
    let span = Span::call_site().located_at(topic.span());
    let subscribed = quote_spanned!(span=> ::jobkit::private::subscribed::<#topic>);
    quote!(#subscribed(#policy))
}
