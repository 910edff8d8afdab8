//! The value of a key (`concurrency_key`, …): an expression over the payload.

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::{Expr, LitStr};

use crate::literal;
use crate::mistakes::Mistakes;
use crate::parse::Given;
use crate::redact::Fields;

/// The first `self` in the tokens, also inside parentheses and macro calls.
pub(crate) fn find_self(tokens: TokenStream) -> Option<Ident> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(ident) if ident == "self" => Some(ident),
        TokenTree::Group(group) => find_self(group.stream()),
        _ => None,
    })
}

/// The expression of a key. In quotes it would be the same text for every job: all of them would
/// run one after another, without an explanation.
pub(crate) fn unquoted(given: Given<Expr>, fields: &Fields, mistakes: &mut Mistakes) -> Expr {
    if let Some(text) = literal::as_text(&given.value)
        && let Some(write) = meant(text, fields)
    {
        let (name, text) = (&given.name, text.value());
        mistakes.add(
            &given.value,
            format_args!(
                "in quotes `{text}` is the same key for every job; write it without quotes: \
                 `{name} = {write}`"
            ),
        );
    }
    given.value
}

/// The expression inside quotes, if it looks like one.
fn meant(text: &LitStr, fields: &Fields) -> Option<String> {
    let text = text.value();
    let text = text.trim();
    if fields.names().any(|name| name == text) {
        return Some(format!("self.{text}"));
    }
    // People who are used to format strings leave out `self`.
    let text = fields.names().fold(text.to_owned(), |text, name| {
        text.replace(&format!("{{{name}}}"), &format!("{{self.{name}}}"))
    });
    find_self(text.parse().ok()?)?;
    let alone = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    Some(match alone.filter(|alone| !alone.contains('{')) {
        Some(alone) => alone.to_owned(),
        None if text.contains('{') => formatted(&text),
        None => text,
    })
}

/// `{self.tenant}/{self.id}` as valid Rust.
fn formatted(text: &str) -> String {
    let (mut shape, mut values) = (String::new(), String::new());
    for (number, part) in text.split('{').enumerate() {
        match part.split_once('}').filter(|_| number > 0) {
            Some((value, rest)) => {
                shape.push_str("{}");
                shape.push_str(rest);
                values.push_str(", ");
                values.push_str(value);
            }
            None => shape.push_str(part),
        }
    }
    format!("format!(\"{shape}\"{values})")
}
