//! `version` and `upcast(…)`: which payload a struct is, and how it is made of earlier ones.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, LitInt, Result, Token, parenthesized, token};

use crate::expand::start;
use crate::literal::{Integer, as_text, bare};
use crate::mistakes::Mistakes;
use crate::model::{VERSION, integer};
use crate::parse::Given;

/// An earlier version, and the function that makes the struct of it.
pub(crate) struct Upcast {
    number: LitInt,
    function: Expr,
}

/// The version of a struct, and those it reads besides.
#[derive(Default)]
pub(crate) struct Versions {
    pub(crate) version: Option<u16>,
    /// The earlier ones, as they are written.
    pub(crate) upcasts: Vec<(u16, Expr)>,
}

impl Parse for Upcast {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if !input.peek(LitInt) {
            let next: TokenStream = input.parse()?;
            let message = "`upcast` lists earlier versions by their numbers, each with a \
                           function: write `upcast(2 = Self::from_v2)`";
            return Err(Error::new_spanned(next, message));
        }
        let number: LitInt = input.parse()?;
        let equals: Option<Token![=]> = input.parse()?;
        if equals.is_none() || input.is_empty() || input.peek(Token![,]) {
            let message = format!(
                "version {number} needs a function that takes its payload: write \
                 `{number} = Self::from_v{number}`"
            );
            return Err(Error::new_spanned(number, message));
        }
        let function: Expr = input.parse()?;
        let message = match bare(&function) {
            Expr::Path(_) | Expr::Closure(_) => return Ok(Self { number, function }),
            Expr::Call(_) => {
                "the function is called when such a payload is read, not here: leave out the `(…)`"
                    .to_owned()
            }
            other => match as_text(other) {
                Some(text) => {
                    format!("the function goes without quotes: write `{number} = {}`", text.value())
                }
                None => format!("expected a function: write `{number} = Self::from_v{number}`"),
            },
        };
        Err(Error::new_spanned(function, message))
    }
}

/// Reads the list behind `upcast`.
pub(crate) fn list(input: ParseStream<'_>, name: &Ident, example: &str) -> Result<Vec<Upcast>> {
    if !input.peek(token::Paren) {
        // The rest is taken, or it would be a mistake of its own.
        while !input.is_empty() && !input.peek(Token![,]) {
            input.parse::<proc_macro2::TokenTree>()?;
        }
        let message = format!("`upcast` lists versions in parentheses: write `{example}`");
        return Err(Error::new_spanned(name, message));
    }
    let inside;
    parenthesized!(inside in input);
    let tokens: TokenStream = inside.parse()?;
    let list = Punctuated::<Upcast, Token![,]>::parse_terminated.parse2(tokens)?;
    if list.is_empty() {
        let message = format!("`upcast` reads nothing: write `{example}`, or leave it out");
        return Err(Error::new_spanned(name, message));
    }
    Ok(list.into_iter().collect())
}

impl Versions {
    pub(crate) fn new(
        version: Option<&Given<Integer>>,
        is_meant: bool,
        upcast: Option<Given<Vec<Upcast>>>,
        mistakes: &mut Mistakes,
    ) -> Self {
        let newest: Option<u16> = integer(version, &VERSION, mistakes);
        let Some(Given { name, value: list }) = upcast else {
            return Self { version: newest, upcasts: Vec::new() };
        };
        if !is_meant {
            let numbers = list.iter().filter_map(|upcast| upcast.number.base10_parse::<u16>().ok());
            let next = numbers.max().unwrap_or(1).saturating_add(1);
            let message = format!(
                "`upcast` reads what is older than this struct: say with `version = {next}` \
                 which version this is"
            );
            mistakes.add(name, message);
        }
        let mut upcasts: Vec<(u16, Expr)> = Vec::new();
        for Upcast { number, function } in list {
            let earlier = 1..newest.unwrap_or(u16::MAX);
            match number.base10_parse().ok().filter(|number| earlier.contains(number)) {
                Some(version) if upcasts.iter().any(|(known, _)| *known == version) => {
                    let message = format!("version {version} is in the list twice: keep one");
                    mistakes.add(number, message);
                }
                Some(version) => upcasts.push((version, function)),
                None => mistakes.add(number, before(newest)),
            }
        }
        Self { version: newest, upcasts }
    }

    /// The numbers of the earlier ones.
    pub(crate) fn earlier(&self) -> TokenStream {
        let numbers = self.upcasts.iter().map(|(number, _)| number);
        quote!(&[#(#numbers),*])
    }

    /// The method that reads earlier ones.
    pub(crate) fn method(&self) -> Option<TokenStream> {
        let arms = self.upcasts.iter().map(|(number, function)| {
            // Errors about the function belong under it.
            let span = Span::call_site().located_at(start(function.to_token_stream()));
            quote_spanned!(span=> #number => ::jobkit::private::upcast(stored, #function),)
        });
        (!self.upcasts.is_empty()).then(|| {
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
}

fn before(newest: Option<u16>) -> String {
    match newest {
        Some(1) => "there is no version before the first: leave `upcast` out, or give this struct \
                    the next `version`"
            .to_owned(),
        Some(newest) => {
            format!("`upcast` takes versions before `version = {newest}`: `1` to `{}`", newest - 1)
        }
        None => "a version is a number from `1` to `32767`".to_owned(),
    }
}
