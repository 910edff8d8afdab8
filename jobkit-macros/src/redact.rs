//! `redact(…)` and `encrypt(…)`: which keys of the payload hold what must not be shown, or not lie
//! open.

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, ItemStruct, LitStr, Result, Token, Type, parenthesized, token};

use crate::mistakes::Mistakes;
use crate::suggest::{listed, nearest};

/// A field of the struct, and the keys that serde may have for it.
struct Field {
    name: String,
    keys: Vec<String>,
    flattened: bool,
}

/// The named fields of the struct; or the type of its only one, which has no name.
#[derive(Default)]
pub(crate) struct Fields(Vec<Field>, Option<Type>);

/// A field, or what is inside of one: `card.number`.
pub(crate) struct Path(Vec<Ident>);

impl Path {
    /// Its names.
    pub(crate) fn names(&self) -> Vec<String> {
        self.0.iter().map(|name| name.unraw().to_string()).collect()
    }

    pub(crate) fn text(&self) -> String {
        self.names().join(".")
    }

    pub(crate) fn tokens(&self) -> TokenStream {
        self.0.iter().cloned().map(TokenTree::Ident).collect()
    }
}

/// What is done to the fields of a list.
#[derive(Clone, Copy)]
pub(crate) enum Verb {
    Redact,
    Encrypt,
}

impl Verb {
    fn word(self) -> &'static str {
        match self {
            Self::Redact => "redact",
            Self::Encrypt => "encrypt",
        }
    }
}

/// Reads the list behind `redact` or `encrypt`.
pub(crate) fn list(input: ParseStream<'_>, name: &Ident, example: &str) -> Result<Vec<Path>> {
    if !input.peek(token::Paren) {
        // The rest is taken, or it would be a mistake of its own.
        while !input.is_empty() && !input.peek(Token![,]) {
            input.parse::<TokenTree>()?;
        }
        let message = format!("`{name}` lists fields in parentheses: write `{example}`");
        return Err(Error::new_spanned(name, message));
    }
    let inside;
    parenthesized!(inside in input);
    let tokens: TokenStream = inside.parse()?;
    let paths = (|input: ParseStream<'_>| paths(input, name)).parse2(tokens)?;
    if paths.is_empty() {
        let does = if name == "encrypt" { "seals" } else { "hides" };
        let message =
            format!("`{name}` {does} nothing: name a field, `{example}`, or leave it out");
        return Err(Error::new_spanned(name, message));
    }
    Ok(paths)
}

/// All of them, with commas between.
fn paths(input: ParseStream<'_>, list: &Ident) -> Result<Vec<Path>> {
    let mut paths = Vec::new();
    while !input.is_empty() {
        paths.push(path(input, list)?);
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
    }
    Ok(paths)
}

fn path(input: ParseStream<'_>, list: &Ident) -> Result<Path> {
    if !input.peek(syn::Ident::peek_any) {
        let next: TokenTree = input.parse()?;
        let message = match &next {
            TokenTree::Literal(literal) => {
                let bare = literal.to_string().replace('"', "");
                format!("`{list}` lists fields without quotes: write `{list}({bare})`")
            }
            _ => format!("`{list}` lists fields: write `{list}(token, card.number)`"),
        };
        return Err(Error::new_spanned(next, message));
    }
    Punctuated::<Ident, Token![.]>::parse_separated_nonempty_with(input, Ident::parse_any)
        .map(|names| Path(names.into_iter().collect()))
}

impl Fields {
    pub(crate) fn of(item: &ItemStruct) -> Self {
        let rules = rules(&item.attrs);
        let named = item.fields.iter().filter_map(|field| {
            let name = field.ident.as_ref()?.unraw().to_string();
            let mut keys: Vec<String> = rules.iter().map(|rule| renamed(&name, rule)).collect();
            let (written, flattened) = written(&field.attrs);
            keys.extend(written);
            keys.push(name.clone());
            keys.sort();
            keys.dedup();
            Some(Field { name, keys, flattened })
        });
        let wrapped = match &item.fields {
            syn::Fields::Unnamed(fields) if fields.unnamed.len() == 1 => fields.unnamed.first(),
            _ => None,
        };
        Self(named.collect(), wrapped.map(|field| field.ty.clone()))
    }

    /// The type of the only field, if that has no name.
    pub(crate) fn wrapped(&self) -> Option<&Type> {
        self.1.as_ref()
    }

    /// The fields as the struct names them.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|field| &*field.name)
    }

    /// The paths in the payload that these fields may have there.
    pub(crate) fn paths(&self, verb: Verb, given: &[Path], mistakes: &mut Mistakes) -> Vec<String> {
        let (mut paths, mut seen) = (Vec::new(), Vec::new());
        for path in given {
            let text = path.text();
            if seen.contains(&text) {
                let message = format_args!("`{text}` is in the list twice: keep one of them");
                mistakes.add(path.tokens(), message);
                continue;
            }
            seen.push(text);
            let name = path.0[0].unraw().to_string();
            let Some(field) = self.0.iter().find(|field| field.name == name) else {
                mistakes.add(&path.0[0], self.unknown(verb, &name));
                continue;
            };
            if field.flattened {
                let instead = match verb {
                    Verb::Redact => "it would be shown",
                    Verb::Encrypt => "it would lie open",
                };
                let message = format_args!(
                    "a flattened field has no key of its own in the payload: take \
                     `#[serde(flatten)]` off, or {instead}"
                );
                mistakes.add(&path.0[0], message);
            }
            let rest: String =
                path.0[1..].iter().map(|name| format!(".{}", name.unraw())).collect();
            paths.extend(field.keys.iter().map(|key| format!("{key}{rest}")));
        }
        paths
    }

    fn unknown(&self, verb: Verb, name: &str) -> String {
        let start = format!("no field `{name}` to {}", verb.word());
        match nearest(name, self.names()) {
            Some(meant) => format!("{start}: did you mean `{meant}`?"),
            None if self.0.is_empty() => format!("{start}: this struct has no named fields"),
            None => {
                let names = listed(self.names().collect::<Vec<_>>().into_iter());
                format!("{start}: the fields are {names}")
            }
        }
    }
}

/// Calls this with each `name = "text"` of `#[serde(…)]`, also inside of parentheses; with an
/// empty text for a word alone.
fn serde(attributes: &[Attribute], mut each: impl FnMut(&str, String)) {
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        // What serde does not understand is serde's to report.
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

fn rules(attributes: &[Attribute]) -> Vec<String> {
    let mut rules = Vec::new();
    serde(attributes, |name, value| {
        if name == "rename_all" {
            rules.push(value);
        }
    });
    rules
}

/// The keys that a field's attributes name, and whether it is flattened.
fn written(attributes: &[Attribute]) -> (Vec<String>, bool) {
    let (mut keys, mut flattened) = (Vec::new(), false);
    serde(attributes, |name, value| match name {
        "rename" | "alias" => keys.push(value),
        "flatten" => flattened = true,
        _ => {}
    });
    (keys, flattened)
}

/// A field's name by a rule of serde's `rename_all`.
fn renamed(name: &str, rule: &str) -> String {
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
