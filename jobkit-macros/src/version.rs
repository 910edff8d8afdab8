//! `upcast(…)`: earlier versions, each with the function that reads it.

use proc_macro2::{Ident, TokenStream};
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, LitInt, Result, Token, parenthesized, token};

use crate::literal::{as_text, bare};

/// An earlier version, and the function that converts it to the struct.
pub(crate) struct Upcast {
    pub(crate) number: LitInt,
    pub(crate) function: Expr,
}

impl Parse for Upcast {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if !input.peek(LitInt) {
            let next: TokenStream = input.parse()?;
            let message = "`upcast` lists earlier versions by number, each with a function: write \
                           `upcast(2 = Self::from_v2)`";
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

/// Reads the list after `upcast`.
pub(crate) fn list(input: ParseStream<'_>, name: &Ident, example: &str) -> Result<Vec<Upcast>> {
    if !input.peek(token::Paren) {
        // The rest is consumed, or it would be reported as a second mistake.
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
        let message = format!("`upcast` names no version: write `{example}`, or leave it out");
        return Err(Error::new_spanned(name, message));
    }
    Ok(list.into_iter().collect())
}
