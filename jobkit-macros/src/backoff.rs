use std::time::Duration;

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::{Error, Expr, ExprCall, ExprPath, LitStr, Result};

use crate::duration::{self, WAIT};
use crate::literal;
use crate::suggest::{listed, nearest};

/// The longest wait of `exponential` that names no `max`.
const DEFAULT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// The named policies, each as it is written.
const NAMED: [(&str, &str); 4] = [
    ("quartic", "quartic"),
    ("exponential", "exponential(\"5s\")"),
    ("linear", "linear(\"10s\")"),
    ("fixed", "fixed(\"30s\")"),
];

const CUSTOM: &str = "give the path of your own function, such as `Self::backoff`";

/// How long a job waits between a failed attempt and the next one.
pub(crate) enum Backoff {
    Quartic,
    Exponential {
        first: Duration,
        max: Duration,
    },
    Linear(Duration),
    Fixed(Duration),
    /// A user-defined function.
    Custom(ExprPath),
}

impl Backoff {
    /// One word, with or without arguments, is a named policy; a longer path is a function.
    pub(crate) fn read(expr: &Expr) -> Result<Self> {
        let (function, arguments) = match literal::bare(expr) {
            Expr::Call(call) => (literal::bare(&call.func), Some(call)),
            other => (other, None),
        };
        if let Some(name) = literal::word(function) {
            return named(name, arguments);
        }
        match (function, arguments) {
            (Expr::Path(path), None) => Ok(Self::Custom(path.clone())),
            (Expr::Path(_), Some(call)) => Err(Error::new_spanned(
                arguments_of(call),
                "the function is called after a failed attempt, not here: leave out the `(…)`",
            )),
            _ => Err(unreadable(expr)),
        }
    }

    /// The code that creates this policy.
    pub(crate) fn code(&self) -> TokenStream {
        let policy = match self {
            Self::Quartic => quote!(Quartic),
            Self::Exponential { first, max } => {
                let (first, max) = (duration::code(*first), duration::code(*max));
                quote!(Exponential { first: #first, max: #max })
            }
            Self::Linear(step) => {
                let step = duration::code(*step);
                quote!(Linear(#step))
            }
            Self::Fixed(wait) => {
                let wait = duration::code(*wait);
                quote!(Fixed(#wait))
            }
            Self::Custom(function) => quote!(Custom(#function)),
        };
        quote!(::jobkit::private::Backoff::#policy)
    }
}

fn unreadable(expr: &Expr) -> Error {
    let message = match literal::as_text(expr) {
        Some(text) => {
            let text = text.value();
            format!("this wait needs a policy: write `fixed(\"{text}\")` or `linear(\"{text}\")`")
        }
        None => {
            let names = listed(NAMED.iter().map(|(name, _)| *name));
            format!("expected a policy: choose one of {names}, or {CUSTOM}")
        }
    };
    Error::new_spanned(expr, message)
}

fn named(name: &Ident, call: Option<&ExprCall>) -> Result<Backoff> {
    let word = name.to_string();
    let names = NAMED.iter().map(|(known, _)| *known);
    let Some((_, example)) = NAMED.iter().find(|(known, _)| *known == word) else {
        let message = match nearest(&word, names.clone()) {
            Some(meant) => format!("unknown policy `{word}`: did you mean `{meant}`?"),
            None => {
                format!("unknown policy `{word}`: choose one of {}, or {CUSTOM}", listed(names))
            }
        };
        return Err(Error::new_spanned(name, message));
    };
    match (word.as_str(), call) {
        ("quartic", None) => Ok(Backoff::Quartic),
        ("quartic", Some(call)) => Err(Error::new_spanned(
            arguments_of(call),
            "`quartic` takes no arguments: leave out the `(…)`",
        )),
        ("exponential", Some(call)) if !call.args.is_empty() => exponential(call),
        ("linear", Some(call)) if !call.args.is_empty() => Ok(Backoff::Linear(only(name, call)?)),
        ("fixed", Some(call)) if !call.args.is_empty() => Ok(Backoff::Fixed(only(name, call)?)),
        _ => Err(Error::new_spanned(name, format!("`{name}` needs a wait: write `{example}`"))),
    }
}

/// The one wait that `linear` and `fixed` take.
fn only(name: &Ident, call: &ExprCall) -> Result<Duration> {
    if let Some(extra) = call.args.iter().nth(1) {
        let message = format!("`{name}` takes one wait: leave this out");
        return Err(Error::new_spanned(extra, message));
    }
    wait(&call.args[0])
}

fn exponential(call: &ExprCall) -> Result<Backoff> {
    let first = wait(&call.args[0])?;
    let Some(argument) = call.args.iter().nth(1) else {
        return Ok(Backoff::Exponential { first, max: DEFAULT_MAX });
    };
    if let Some(extra) = call.args.iter().nth(2) {
        let message = "`exponential` takes the first wait and `max`: leave this out";
        return Err(Error::new_spanned(extra, message));
    }
    let value = match argument {
        Expr::Assign(assign) if literal::word(&assign.left).is_some_and(|name| name == "max") => {
            &assign.right
        }
        _ => {
            let message = "the second argument of `exponential` is the longest wait: write \
                           `max = \"1h\"`";
            return Err(Error::new_spanned(argument, message));
        }
    };
    let max = wait(value)?;
    if max < first {
        let message = "`max` is shorter than the first wait: make it at least as long";
        return Err(Error::new_spanned(value, message));
    }
    Ok(Backoff::Exponential { first, max })
}

fn wait(expr: &Expr) -> Result<Duration> {
    let text: &LitStr = literal::as_text(expr)
        .ok_or_else(|| Error::new_spanned(expr, "a wait is text with a unit: write `\"5s\"`"))?;
    duration::read(text, &WAIT)
}

/// The parentheses of a call and their content.
fn arguments_of(call: &ExprCall) -> TokenStream {
    let mut tokens = TokenStream::new();
    call.paren_token.surround(&mut tokens, |inside| call.args.to_tokens(inside));
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Backoff> {
        Backoff::read(&syn::parse_str(text).expect("the test gives an expression"))
    }

    fn code(text: &str) -> String {
        read(text).expect("the policy is accepted").code().to_string().replace(' ', "")
    }

    fn refusal(text: &str) -> String {
        read(text).map(|_| ()).expect_err("it should be refused").to_string()
    }

    #[test]
    fn every_form_makes_its_variant() {
        let backoff = "::jobkit::private::Backoff::";
        let secs = |n: u32| format!("::core::time::Duration::from_secs({n}u64)");
        let exponential =
            |max| format!("{backoff}Exponential{{first:{},max:{}}}", secs(5), secs(max));
        assert_eq!(code("quartic"), format!("{backoff}Quartic"));
        assert_eq!(code(r#"exponential("5s")"#), exponential(86_400));
        assert_eq!(code(r#"exponential("5s", max = "1h")"#), exponential(3600));
        assert_eq!(code(r#"linear("10s")"#), format!("{backoff}Linear({})", secs(10)));
        assert_eq!(code(r#"fixed("30s")"#), format!("{backoff}Fixed({})", secs(30)));
        assert_eq!(code("Self::retry_after"), format!("{backoff}Custom(Self::retry_after)"));
        assert_eq!(code("<A as B>::c"), format!("{backoff}Custom(<AasB>::c)"));
        assert_eq!(code("a::b::<3>"), format!("{backoff}Custom(a::b::<3>)"));
    }

    #[test]
    fn mistakes_are_answered_with_what_to_write() {
        for (text, advice) in [
            ("exponental(\"5s\")", "did you mean `exponential`?"),
            ("retry_after", "give the path of your own function"),
            ("\"5s\"", "write `fixed(\"5s\")` or `linear(\"5s\")`"),
            ("|n| wait(n)", "expected a policy"),
            ("Self::retry_after()", "leave out the `(…)`"),
            ("quartic(\"5s\")", "takes no arguments"),
            ("fixed", "write `fixed(\"30s\")`"),
            ("fixed()", "write `fixed(\"30s\")`"),
            ("fixed(30)", "write `\"5s\"`"),
            ("fixed(\"5s\", \"6s\")", "takes one wait"),
            ("exponential(\"5s\", \"1h\")", "write `max = \"1h\"`"),
            ("exponential(\"5s\", max = \"1s\")", "make it at least as long"),
            ("exponential(\"5s\", max = \"1h\", \"2h\")", "leave this out"),
            ("linear(\"2d\")", "at most 24 hours"),
        ] {
            let message = refusal(text);
            assert!(message.contains(advice), "{text}: {message}");
        }
    }
}
