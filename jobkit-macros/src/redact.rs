//! `redact(…)` and `encrypt(…)`: which keys of the payload are hidden or encrypted.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, Error, ItemStruct, LitStr, Result, Token, Type, parenthesized, token};

use crate::keys::{is_converted, is_opaque, renamed, rules, written};
use crate::mistakes::Mistakes;
use crate::suggest::{listed, nearest};

/// A field of the struct, and the keys that serde may use for it.
struct Field {
    name: String,
    keys: Vec<String>,
    flattened: bool,
}

/// The named fields of the struct, or the type of its only unnamed field.
#[derive(Default)]
pub(crate) struct Fields {
    named: Vec<Field>,
    wrapped: Option<Type>,
    /// Attributes that may give a field an unknown key.
    opaque: Vec<Attribute>,
}

/// A field, or a part of one: `card.number`.
pub(crate) struct Path(Vec<Name>);

/// A part of a path.
enum Name {
    /// A field, by its name in Rust; the compiler checks that it exists.
    Field(Ident),
    /// A key of the JSON: `card."Card-No"`.
    Key(LitStr),
}

impl Name {
    fn key(&self) -> String {
        match self {
            Self::Field(name) => name.unraw().to_string(),
            Self::Key(key) => key.value(),
        }
    }

    fn field(&self) -> Option<&Ident> {
        match self {
            Self::Field(name) => Some(name),
            Self::Key(_) => None,
        }
    }
}

impl ToTokens for Name {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Field(name) => name.to_tokens(tokens),
            Self::Key(key) => key.to_tokens(tokens),
        }
    }
}

impl Path {
    /// Its names.
    pub(crate) fn names(&self) -> Vec<String> {
        self.0.iter().map(Name::key).collect()
    }

    pub(crate) fn text(&self) -> String {
        self.names().join(".")
    }

    pub(crate) fn tokens(&self) -> TokenStream {
        self.0.iter().map(ToTokens::to_token_stream).collect()
    }

    /// The fields before the first key, if there are several: a struct and fields in it.
    fn fields(&self) -> Option<Vec<Ident>> {
        let fields: Vec<Ident> = self.0.iter().map_while(Name::field).cloned().collect();
        (fields.len() > 1).then_some(fields)
    }
}

/// An expression that compiles if each of these fields has the next one, also inside options, lists
/// and boxes. It never runs.
pub(crate) fn reached(fields: &[Ident]) -> TokenStream {
    let mut way = quote!(self);
    for (place, field) in fields.iter().enumerate() {
        let span = Span::call_site().located_at(field.span());
        for _ in 0..if place == 0 { 0 } else { DEEPEST } {
            way = quote_spanned!(span=> (&::jobkit::private::Way(#way)).through());
        }
        way = quote_spanned!(span=> &(#way).#field);
    }
    way
}

/// The deepest nesting of options, lists and boxes around a field: `Option<Vec<Box<Card>>>`.
const DEEPEST: usize = 3;

/// What a list does to its fields.
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
        // The rest is consumed, or it would be reported as a second mistake.
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
        let message = format!("`{name}` names no field: write `{example}`, or leave it out");
        return Err(Error::new_spanned(name, message));
    }
    Ok(paths)
}

/// All of them, separated by commas.
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
    let mut names = vec![Name::Field(input.call(Ident::parse_any)?)];
    while input.parse::<Option<Token![.]>>()?.is_some() {
        names.push(if input.peek(LitStr) {
            Name::Key(key(input.parse()?)?)
        } else {
            Name::Field(input.call(Ident::parse_any)?)
        });
    }
    Ok(Path(names))
}

/// A key of JSON that a path can name.
fn key(key: LitStr) -> Result<LitStr> {
    let text = key.value();
    if text.is_empty() || text.contains(['.', '\0']) {
        let message = "a key in a path cannot be empty or contain a dot: name the value around it";
        return Err(Error::new_spanned(key, message));
    }
    Ok(key)
}

impl Fields {
    pub(crate) fn of(item: &ItemStruct) -> Self {
        let rules = rules(&item.attrs);
        let attributes = item.fields.iter().flat_map(|field| &field.attrs).filter(is_opaque);
        let on_top = item.attrs.iter().filter(|it| is_opaque(it) || is_converted(it));
        let opaque = on_top.chain(attributes).cloned().collect();
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
        let wrapped = wrapped.map(|field| field.ty.clone());
        Self { named: named.collect(), wrapped, opaque }
    }

    /// Refuses serde attributes that hide the keys of fields from this one.
    pub(crate) fn refuse_opaque(&self, mistakes: &mut Mistakes) {
        for attribute in &self.opaque {
            let message = "this may rename a field without `redact` and `encrypt` seeing it: write \
                           `#[serde(…)]` on the fields themselves, without `cfg_attr`, `from` and \
                           `into`";
            mistakes.add(attribute, message);
        }
    }

    /// The paths inside a field that the compiler must check.
    pub(crate) fn ways(given: &[Path]) -> impl Iterator<Item = Vec<Ident>> {
        given.iter().filter_map(Path::fields)
    }

    /// The type of the only field, if that has no name.
    pub(crate) fn wrapped(&self) -> Option<&Type> {
        self.wrapped.as_ref()
    }

    /// The fields by the names in the struct.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.named.iter().map(|field| &*field.name)
    }

    /// The paths that these fields may have in the payload.
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
            let name = path.0[0].key();
            let Some(field) = self.named.iter().find(|field| field.name == name) else {
                mistakes.add(&path.0[0], self.unknown(verb, &name));
                continue;
            };
            if field.flattened {
                let instead = match verb {
                    Verb::Redact => "its values are shown",
                    Verb::Encrypt => "its values are stored unencrypted",
                };
                let message = format_args!(
                    "a flattened field has no key of its own in the payload: remove \
                     `#[serde(flatten)]`, or {instead}"
                );
                mistakes.add(&path.0[0], message);
            }
            let rest: String = path.0[1..].iter().map(|name| format!(".{}", name.key())).collect();
            paths.extend(field.keys.iter().map(|key| format!("{key}{rest}")));
        }
        paths
    }

    fn unknown(&self, verb: Verb, name: &str) -> String {
        let start = format!("no field `{name}` to {}", verb.word());
        match nearest(name, self.names()) {
            Some(meant) => format!("{start}: did you mean `{meant}`?"),
            None if self.named.is_empty() => format!("{start}: this struct has no named fields"),
            None => {
                let names = listed(self.names().collect::<Vec<_>>().into_iter());
                format!("{start}: the fields are {names}")
            }
        }
    }
}
