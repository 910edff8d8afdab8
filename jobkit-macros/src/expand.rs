use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Expr, LitStr};

use crate::backoff::Backoff;
use crate::chunk::Chunk;
use crate::duration;
use crate::encrypt::Hidden;
use crate::key::find_self;
use crate::model::{AutoReplay, Concurrency, JobModel, Term};
use crate::rate::Rate;
use crate::redact::reached;
use crate::topic;

/// The code behind the struct: its declaration and its registration. All logic is in
/// `jobkit::private`.
pub(crate) fn expand(model: &JobModel) -> TokenStream {
    let name = &model.name;
    let policy = policy(model);
    let (typed, concurrency_key) = model.concurrency.as_ref().map(concurrency_key).unzip();
    let dead_letter_key =
        model.dead_letter_key.as_ref().map(|expr| plain_key("dead_letter_key", expr));
    let unique_key = model.unique.as_ref().map(|unique| plain_key("unique_key", &unique.key));
    let coalesce_key =
        model.coalesce.as_ref().map(|coalesce| plain_key("coalesce_key", &coalesce.key));
    let typed = typed.map(|method| quote!(#[automatically_derived] impl #name { #method }));
    let result = model.result.as_ref().map_or_else(|| quote!(()), ToTokens::to_token_stream);
    let of = Ident::new(if model.chunk.is_some() { "of_chunk" } else { "of" }, Span::call_site());
    let (upcast, scheduled) = (upcast(model), model.schedule.as_ref().map(scheduled));
    let hidden = hidden(&model.hidden.ways);
    quote! {
        #typed
        #[automatically_derived]
        impl ::jobkit::private::JobType for #name {
            type Output = #result;
            const POLICY: ::jobkit::private::Policy = #policy;
            #concurrency_key
            #dead_letter_key
            #unique_key
            #coalesce_key
            #upcast
            #scheduled
            #hidden
        }
        ::jobkit::private::inventory::submit!(
            ::jobkit::private::Registration::#of::<#name, _>()
        );
    }
}

/// The settings that the attribute names; the others are the library's defaults.
fn policy(model: &JobModel) -> TokenStream {
    let JobModel { kind, hidden: Hidden { redact, encrypt, .. }, aliases, .. } = model;
    let mut settings = TokenStream::new();
    let mut set = |field: &str, value: TokenStream| {
        let field = Ident::new(field, Span::call_site());
        settings.extend(quote!(#field: #value,));
    };
    let upcasts = model.upcasts.iter().map(|(number, _)| *number).collect::<Vec<u16>>();
    for (field, value) in [
        ("aliases", list(aliases)),
        ("redact", list(redact)),
        ("encrypt", list(encrypt)),
        ("version", model.version.map(|version| version.to_token_stream())),
        ("upcasts", list(&upcasts)),
        ("queue", model.queue.as_ref().map(ToTokens::to_token_stream)),
        ("priority", model.priority.map(|priority| priority.to_token_stream())),
        ("max_attempts", model.max_attempts.map(|attempts| attempts.to_token_stream())),
        ("backoff", model.backoff.as_ref().map(Backoff::code)),
        ("unique", model.unique.as_ref().map(|unique| some(&unique.code()))),
        ("coalesce", model.coalesce.as_ref().map(|coalesce| some(&coalesce.group))),
        ("rate", model.rate.as_ref().map(Rate::code)),
        ("chunk", model.chunk.as_ref().map(Chunk::code)),
    ] {
        if let Some(value) = value {
            set(field, value);
        }
    }
    for (field, value) in &model.terms {
        set(field, term(*value));
    }
    if let Some(AutoReplay { after, max_cycles }) = &model.auto_replay {
        let (after, cycles) = (duration::code(*after), quote!(max_cycles: #max_cycles));
        let replay = quote!(::jobkit::private::AutoReplay { after: #after, #cycles });
        set("auto_replay", quote!(::core::option::Option::Some(#replay)));
    }
    if let Some(Concurrency { group, limit, .. }) = &model.concurrency {
        let shared = quote!(::jobkit::private::Concurrency { group: #group, limit: #limit });
        set("concurrency", quote!(::core::option::Option::Some(#shared)));
        let optional = quote!(::jobkit::private::optional_key(Self::__jobkit_concurrency_key));
        set("optional_key", optional);
    }
    let policy = with(&settings, kind);
    model.topic.as_ref().map_or(policy.clone(), |topic| topic::policy(topic, &policy))
}

fn with(settings: &TokenStream, kind: &str) -> TokenStream {
    let defaults = quote!(::jobkit::private::Policy::new(#kind));
    match settings.is_empty() {
        true => defaults,
        false => quote!(::jobkit::private::Policy { #settings ..#defaults }),
    }
}

/// No code for an absent setting.
fn list(items: &[impl ToTokens]) -> Option<TokenStream> {
    (!items.is_empty()).then(|| quote!(&[#(#items),*]))
}

fn some(value: &impl ToTokens) -> TokenStream {
    quote!(::core::option::Option::Some(#value))
}

fn term(term: Term) -> TokenStream {
    match term {
        Term::None => quote!(::core::option::Option::None),
        Term::Some(duration) => {
            let duration = duration::code(duration);
            quote!(::core::option::Option::Some(#duration))
        }
    }
}

/// The method for the concurrency key, whose type tells whether it may be absent, and the method of
/// the declaration.
fn concurrency_key(concurrency: &Concurrency) -> (TokenStream, TokenStream) {
    let (receiver, call) = key("key_or_none", &concurrency.key);
    let typed = quote! {
        #[doc(hidden)]
        fn __jobkit_concurrency_key(
            &#receiver
        ) -> ::jobkit::private::Key<impl ::jobkit::private::Presence> {
            #call
        }
    };
    let declared = quote! {
        fn concurrency_key(&self) -> ::core::option::Option<::std::string::String> {
            self.__jobkit_concurrency_key().into_text()
        }
    };
    (typed, declared)
}

/// The method for the dead-letter key, the unique key or the coalesce key.
fn plain_key(method: &str, expr: &Expr) -> TokenStream {
    let method = Ident::new(method, Span::call_site());
    let (receiver, call) = key("key", expr);
    quote! {
        fn #method(&#receiver) -> ::core::option::Option<::std::string::String> {
            #call
        }
    }
}

/// The call that turns a key into text, and the receiver of the method around it.
fn key(function: &str, expr: &Expr) -> (Ident, TokenStream) {
    let tokens = expr.to_token_stream();
    let start = start(tokens.clone());
    // `self` is hygienic: a key that `macro_rules!` got from its caller sees only a receiver of
    // the same origin, so the receiver is the `self` of the expression. It may also be in a format
    // string, which has the origin of the code around it.
    let receiver = find_self(tokens).unwrap_or_else(|| Ident::new("self", start));
    // Errors about the key underline it, but lints must not take it for hand-written code.
    let span = Span::call_site().located_at(start);
    let function = Ident::new(function, span);
    let call = quote_spanned!(span=> ::jobkit::private::#function(&(#expr)));
    (receiver, call)
}

/// The method that reads earlier versions.
fn upcast(model: &JobModel) -> Option<TokenStream> {
    let arms = model.upcasts.iter().map(|(number, function)| {
        // Errors about the function underline it.
        let span = Span::call_site().located_at(start(function.to_token_stream()));
        quote_spanned!(span=> #number => {
            ::jobkit::private::upcast::<_, _, Self, _>(stored, #function)
        })
    });
    (!model.upcasts.is_empty()).then(|| {
        quote! {
            fn upcast(
                stored: ::jobkit::private::Stored<'_>
            ) -> ::core::result::Result<Self, ::std::string::String> {
                match stored.version() {
                    #(#arms)*
                    _ => ::core::result::Result::Err(stored.unknown()),
                }
            }
        }
    })
}

/// The method that returns the schedule and creates its job. Without `Default`, the error
/// underlines the text.
fn scheduled(times: &LitStr) -> TokenStream {
    let span = Span::call_site().located_at(times.span());
    let job = quote_spanned!(span=> ::jobkit::private::scheduled::<Self>());
    quote! {
        fn scheduled() -> ::core::option::Option<(&'static str, Self)> {
            ::core::option::Option::Some((#times, #job))
        }
    }
}

/// A method that compiles only if the hidden parts of a field exist.
fn hidden(ways: &[Vec<Ident>]) -> Option<TokenStream> {
    let reached = ways.iter().map(|fields| reached(fields));
    (!ways.is_empty()).then(|| {
        quote! {
            fn hidden(&self) {
                use ::jobkit::private::{Itself as _, Through as _};
                #(let _ = #reached;)*
            }
        }
    })
}

/// The position of the first written token, without the invisible groups around `$key:expr`.
fn start(tokens: TokenStream) -> Span {
    match tokens.into_iter().next() {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::None => {
            start(group.stream())
        }
        Some(token) => token.span(),
        None => Span::call_site(),
    }
}
