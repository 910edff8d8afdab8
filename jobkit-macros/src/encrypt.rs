//! `encrypt(…)`: which keys of the payload are stored encrypted.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::Expr;
use syn::ext::IdentExt;

use crate::mistakes::Mistakes;
use crate::parse::{Args, Given};
use crate::redact::{Fields, Path, Verb};

/// Whether jobkit is built with the feature `encrypt`.
const IS_BUILT: bool = cfg!(feature = "encrypt");

/// The hidden parts of a job.
pub(crate) struct Hidden {
    /// The paths in the payload, …
    pub(crate) redact: Vec<String>,
    /// … those of encrypted values among them, …
    pub(crate) encrypt: Vec<String>,
    /// … and the fields on the way to them.
    pub(crate) ways: Vec<Vec<Ident>>,
}

/// The redacted and encrypted fields.
pub(crate) fn read(args: &mut Args, fields: &Fields, mistakes: &mut Mistakes) -> Hidden {
    if args.redact.is_some() || args.encrypt.is_some() {
        fields.refuse_opaque(mistakes);
    }
    let redact = args.redact.take().map(|given| given.value).unwrap_or_default();
    let mut hidden = fields.paths(Verb::Redact, &redact, mistakes);
    let mut ways: Vec<_> = Fields::ways(&redact).collect();
    let Some(Given { name, value: encrypt }) = args.encrypt.take() else {
        return Hidden { redact: hidden, encrypt: Vec::new(), ways };
    };
    ways.extend(Fields::ways(&encrypt));
    if !IS_BUILT {
        let message = "`encrypt` needs the feature `encrypt` of jobkit: write \
                       `jobkit = { version = \"…\", features = [\"encrypt\"] }` in Cargo.toml";
        mistakes.add(name, message);
    }
    let sealed = fields.paths(Verb::Encrypt, &encrypt, mistakes);
    refuse_nested(&encrypt, mistakes);
    refuse_keys(args, &encrypt, mistakes);
    hidden.extend(sealed.iter().filter(|path| !hidden.contains(path)).cloned().collect::<Vec<_>>());
    Hidden { redact: hidden, encrypt: sealed, ways }
}

/// Values inside a sealed value are sealed with it.
fn refuse_nested(encrypt: &[Path], mistakes: &mut Mistakes) {
    for path in encrypt {
        let names = path.names();
        let around = encrypt.iter().map(Path::names);
        let around =
            around.filter(|other| other.len() < names.len()).find(|other| names.starts_with(other));
        if let Some(around) = around {
            let around = around.join(".");
            let message = format_args!("`{around}` is encrypted as a whole: leave this out");
            mistakes.add(path.tokens(), message);
        }
    }
}

/// Keys are stored unencrypted, since they are compared.
fn refuse_keys(args: &Args, encrypt: &[Path], mistakes: &mut Mistakes) {
    for key in [&args.concurrency_key, &args.dead_letter_key, &args.unique_key, &args.coalesce_key]
    {
        let Some(Given { name, value }) = key else { continue };
        for path in encrypt {
            if let Some(found) = mentioned(value, &path.names()) {
                let text = path.text();
                let message = format_args!(
                    "`{text}` is encrypted, but `{name}` is stored as plain text: build the key \
                     from another field, such as one with a keyed hash of the value"
                );
                mistakes.add(found, message);
            }
        }
    }
}

/// Where an expression reads this path, a part of it, or a value that contains it.
fn mentioned(expr: &Expr, path: &[String]) -> Option<TokenStream> {
    in_tokens(expr.to_token_stream(), path)
}

fn in_tokens(tokens: TokenStream, path: &[String]) -> Option<TokenStream> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (place, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(ident) if ident == "self" => {
                let read = fields_behind(&tokens[place + 1..]);
                let names: Vec<String> = read.iter().map(|name| name.unraw().to_string()).collect();
                let common = names.len().min(path.len());
                if common > 0 && names[..common] == path[..common] {
                    let end = place + 1 + 2 * read.len();
                    return Some(tokens[place..end].iter().cloned().collect());
                }
            }
            TokenTree::Group(group) => {
                if let Some(found) = in_tokens(group.stream(), path) {
                    return Some(found);
                }
            }
            _ => {}
        }
    }
    None
}

/// The names in `.card.number`; not the method in `.card.number()`.
fn fields_behind(tokens: &[TokenTree]) -> Vec<Ident> {
    let mut names = Vec::new();
    let mut rest = tokens;
    while let [TokenTree::Punct(dot), TokenTree::Ident(name), behind @ ..] = rest {
        let is_call = matches!(behind.first(), Some(TokenTree::Group(_)));
        if dot.as_char() != '.' || is_call {
            break;
        }
        names.push(name.clone());
        rest = behind;
    }
    names
}
