//! The keys that serde gives to the fields of a struct.

use proc_macro2::TokenTree;
use quote::ToTokens;
use syn::{Attribute, LitStr, token};

/// Whether an attribute is a wrapped serde attribute that cannot be read.
pub(crate) fn is_opaque(attribute: &&Attribute) -> bool {
    let says_serde = |token| matches!(token, TokenTree::Ident(name) if name == "serde");
    attribute.path().is_ident("cfg_attr")
        && attribute.meta.to_token_stream().into_iter().any(|token| match token {
            TokenTree::Group(group) => group.stream().into_iter().any(says_serde),
            _ => false,
        })
}

/// Whether serde writes another type instead of the struct.
pub(crate) fn is_converted(attribute: &Attribute) -> bool {
    let mut converted = false;
    serde(std::slice::from_ref(attribute), |name, _| {
        converted |= ["from", "try_from", "into"].contains(&name);
    });
    converted
}

/// Calls this with each `name = "text"` of `#[serde(…)]`, also inside parentheses; a single word
/// has an empty text.
fn serde(attributes: &[Attribute], mut each: impl FnMut(&str, String)) {
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        // serde itself reports what it does not understand.
        let _mistake = attribute.parse_nested_meta(|meta| {
            let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            if meta.input.peek(token::Paren) {
                return meta.parse_nested_meta(|inner| {
                    each(&name, inner.value()?.parse::<LitStr>()?.value());
                    Ok(())
                });
            }
            let value = match meta.value() {
                Ok(value) => match value.parse::<syn::Lit>()? {
                    syn::Lit::Str(text) => text.value(),
                    _ => String::new(),
                },
                Err(_) => String::new(),
            };
            each(&name, value);
            Ok(())
        });
    }
}

pub(crate) fn rules(attributes: &[Attribute]) -> Vec<String> {
    let mut rules = Vec::new();
    serde(attributes, |name, value| {
        if name == "rename_all" {
            rules.push(value);
        }
    });
    rules
}

/// The keys that a field's attributes name, and whether it is flattened.
pub(crate) fn written(attributes: &[Attribute]) -> (Vec<String>, bool) {
    let (mut keys, mut flattened) = (Vec::new(), false);
    serde(attributes, |name, value| match name {
        "rename" | "alias" => keys.push(value),
        "flatten" => flattened = true,
        _ => {}
    });
    (keys, flattened)
}

/// A field's name by a rule of serde's `rename_all`.
pub(crate) fn renamed(name: &str, rule: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| {
            first.to_ascii_uppercase().to_string() + letters.as_str()
        })
    };
    let pascal = || name.split('_').map(capital).collect::<String>();
    match rule {
        "UPPERCASE" | "SCREAMING_SNAKE_CASE" => name.to_ascii_uppercase(),
        "PascalCase" => pascal(),
        "camelCase" => {
            let pascal = pascal();
            let first = pascal.chars().next().map_or(0, char::len_utf8);
            pascal[..first].to_ascii_lowercase() + &pascal[first..]
        }
        "kebab-case" => name.replace('_', "-"),
        "SCREAMING-KEBAB-CASE" => name.to_ascii_uppercase().replace('_', "-"),
        _ => name.to_owned(),
    }
}
