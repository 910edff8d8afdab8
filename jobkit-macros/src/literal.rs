//! Values in the attribute: text, whole numbers, lists, `none`.

use std::fmt::Display;

use proc_macro2::Ident;
use syn::parse::ParseStream;
use syn::{Error, Expr, ExprLit, ExprUnary, Lit, LitInt, LitStr, Result, Token, UnOp};

/// A whole number and its position.
pub(crate) struct Integer {
    pub(crate) value: i128,
    pub(crate) written: Expr,
}

/// Looks through the invisible group that `macro_rules!` puts around `$value:expr`.
pub(crate) fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => bare(&group.expr),
        _ => expr,
    }
}

/// Refuses a value for the only argument without one.
pub(crate) fn none(input: ParseStream<'_>, name: &Ident, _: &str) -> Result<()> {
    if input.parse::<Option<Token![=]>>()?.is_none() {
        return Ok(());
    }
    let value = input.parse::<Expr>()?;
    let message = format!(
        "`{name}` takes no value: the topic is the type of the field, as in \
         `struct SendReceipt(OrderPaid);`"
    );
    Err(Error::new_spanned(value, message))
}

/// The literal that `expr` consists of.
pub(crate) fn literal(expr: &Expr) -> Option<&Lit> {
    match bare(expr) {
        Expr::Lit(ExprLit { lit, .. }) => Some(lit),
        _ => None,
    }
}

/// The single word that `expr` consists of.
pub(crate) fn word(expr: &Expr) -> Option<&Ident> {
    match bare(expr) {
        Expr::Path(path) => path.path.get_ident(),
        _ => None,
    }
}

pub(crate) fn as_text(expr: &Expr) -> Option<&LitStr> {
    match literal(expr)? {
        Lit::Str(text) if text.suffix().is_empty() => Some(text),
        _ => None,
    }
}

pub(crate) fn text(name: &Ident, expr: &Expr, example: &str) -> Result<LitStr> {
    as_text(expr).cloned().ok_or_else(|| match word(expr) {
        Some(word) => mismatch(name, expr, "a string", format_args!("\"{word}\"")),
        None => mismatch(name, expr, "a string", example),
    })
}

/// Text, or `None` for the word `none`.
pub(crate) fn text_or_none(name: &Ident, expr: &Expr, example: &str) -> Result<Option<LitStr>> {
    const EXPECTED: &str = "a duration in quotes or `none`";
    match (literal(expr), word(expr)) {
        (Some(Lit::Str(text)), _) if text.suffix().is_empty() => Ok(Some(text.clone())),
        (_, Some(word)) if word == "none" => Ok(None),
        (_, Some(word)) if word == "None" => Err(mismatch(name, expr, EXPECTED, "none")),
        (Some(Lit::Int(number)), _) if number.suffix().is_empty() => {
            Err(mismatch(name, expr, EXPECTED, format_args!("\"{number}s\"")))
        }
        _ => Err(mismatch(name, expr, EXPECTED, example)),
    }
}

/// A list of strings; reports every element that is something else.
pub(crate) fn texts(name: &Ident, expr: &Expr, example: &str) -> Result<Vec<LitStr>> {
    let Expr::Array(list) = bare(expr) else {
        return Err(match as_text(expr) {
            Some(text) => {
                let list = format!("[\"{}\"]", text.value().escape_debug());
                mismatch(name, expr, "a list of strings", list)
            }
            None => mismatch(name, expr, "a list of strings", example),
        });
    };
    let mut all = Vec::new();
    let mut errors = Vec::new();
    for element in &list.elems {
        match as_text(element) {
            Some(text) => all.push(text.clone()),
            None => errors.push(Error::new_spanned(
                element,
                format_args!("`{name}` is a list of strings: write `{name} = {example}`"),
            )),
        }
    }
    match errors.into_iter().reduce(|mut all, next| {
        all.combine(next);
        all
    }) {
        Some(error) => Err(error),
        None => Ok(all),
    }
}

pub(crate) fn integer(name: &Ident, expr: &Expr, example: &str) -> Result<Integer> {
    if let Some(value) = as_integer(expr) {
        return Ok(Integer { value, written: expr.clone() });
    }
    let meant = as_text(expr).and_then(|text| text.value().trim().parse::<i64>().ok());
    let unsuffixed = digits(expr).map(|(negative, digits)| {
        let sign = if negative { "-" } else { "" };
        format!("{sign}{}", digits.base10_digits())
    });
    let write = meant.map(|number| number.to_string()).or(unsuffixed);
    let write = write.as_deref().unwrap_or(example);
    Err(mismatch(name, expr, "a plain whole number", write))
}

fn as_integer(expr: &Expr) -> Option<i128> {
    let (negative, digits) = digits(expr)?;
    if !digits.suffix().is_empty() {
        return None;
    }
    // Too many digits even for 128 bits: this value is outside all our ranges.
    let size = digits.base10_parse().unwrap_or(i128::MAX);
    Some(if negative { -size } else { size })
}

/// The digits of a whole number, and whether a minus precedes them.
fn digits(expr: &Expr) -> Option<(bool, &LitInt)> {
    match bare(expr) {
        Expr::Lit(ExprLit { lit: Lit::Int(digits), .. }) => Some((false, digits)),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => match literal(expr)? {
            Lit::Int(digits) => Some((true, digits)),
            _ => None,
        },
        _ => None,
    }
}

fn mismatch(name: &Ident, expr: &Expr, expected: &str, write: impl Display) -> Error {
    let message = format!("`{name}` expects {expected}: write `{name} = {write}`");
    Error::new_spanned(expr, message + &for_one_job(name, expr))
}

/// How a job can set this when it is enqueued, if an expression was meant to compute it.
fn for_one_job(name: &Ident, expr: &Expr) -> String {
    let computed = !matches!(bare(expr), Expr::Lit(_) | Expr::Unary(_) | Expr::Array(_));
    if !computed || word(expr).is_some_and(|word| !is_constant(word)) {
        return String::new();
    }
    match name.to_string().as_str() {
        name @ ("queue" | "priority" | "max_attempts" | "expires" | "retry_for") => {
            format!("; to set it for a single job, use `.options().{name}(…)` when enqueueing")
        }
        _ => String::new(),
    }
}

/// Whether a word is written like the name of a constant.
fn is_constant(word: &Ident) -> bool {
    word.to_string().chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}
