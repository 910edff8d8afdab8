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
                "the `version` and what to `redact` are the same for all who subscribe: say it in \
                 the `impl Topic`, `{said}`"
            );
            mistakes.add(given, message);
        }
    }
    if let Some(encrypt) = args.encrypt.take() {
        let message = "a job that subscribes has nothing to `encrypt`, since what is published is \
                       stored for all who subscribe: publish an id, or let it enqueue another \
                       job, which has the `encrypt`";
        mistakes.add(encrypt.name, message);
    }
    let wrapped = fields.wrapped().cloned();
    if wrapped.is_none() {
        let message = "a job that subscribes has one field, without a name, of the topic's type: \
                       `struct SendReceipt(OrderPaid);`";
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
            "a job that subscribes has no `{name}`, since those who publish need not know it: let \
             it enqueue another job, which has the `{name}`"
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
