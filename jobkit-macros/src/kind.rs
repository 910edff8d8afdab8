use std::fmt::Display;

use proc_macro2::Ident;
use quote::ToTokens;
use syn::LitStr;
use syn::ext::IdentExt;

use crate::mistakes::Mistakes;

/// The longest name the database stores, in bytes.
const LONGEST: usize = 128;

/// The kind of a struct that does not name its own: `HTTPFetch` becomes `http_fetch`.
pub(crate) fn of_struct(name: &Ident, mistakes: &mut Mistakes) -> String {
    let kind = snake_case(&name.unraw().to_string());
    if kind.len() > LONGEST {
        mistakes.add(
            name,
            format_args!(
                "the kind derived from this name has {} bytes, and at most {LONGEST} are allowed: \
                 choose a shorter one with `kind = \"…\"`",
                kind.len()
            ),
        );
    }
    kind
}

/// A kind or an alias, as [`stored`]; it must not end like a version.
pub(crate) fn unversioned(text: &LitStr, what: impl Display, mistakes: &mut Mistakes) -> String {
    let name = stored(text, &what, mistakes);
    let digits = name.rsplit_once('@').map(|(_, digits)| digits).unwrap_or_default();
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let message = format_args!(
            "{what} must not end with `@{digits}`, which looks like a version: write \
             `version = {digits}`, or choose another name"
        );
        mistakes.add(text.to_token_stream(), message);
    }
    name
}

/// Checks a name for the database: not empty, not too long, printable, and not a field of the job.
pub(crate) fn stored(text: &LitStr, what: impl Display, mistakes: &mut Mistakes) -> String {
    let name = text.value();
    if let Some(reason) = refusal(&name) {
        mistakes.add(text.to_token_stream(), format_args!("{what} {reason}"));
    }
    name
}

fn refusal(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some(format!("must not be empty: give it 1 to {LONGEST} bytes"));
    }
    if name.len() > LONGEST {
        let length = name.len();
        return Some(format!("has {length} bytes: shorten it to at most {LONGEST}"));
    }
    if name.starts_with("self.") {
        return Some(format!("is plain text, the same for every job: `{name}` is not evaluated"));
    }
    let control = name.chars().find(|c| c.is_control())?;
    Some(format!("contains the control character `{}`: remove it", control.escape_debug()))
}

/// A word starts at an upper-case letter after a lower-case one or a digit, and at the last letter
/// of a row of upper-case ones when a lower-case one follows.
fn snake_case(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut snake = String::with_capacity(name.len() + 4);
    for (at, &letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| letters[at]);
        let after_word = before.is_some_and(|c| c.is_lowercase() || c.is_numeric());
        let after_acronym = before.is_some_and(char::is_uppercase)
            && letters.get(at + 1).is_some_and(|c| c.is_lowercase());
        if letter.is_uppercase() && (after_word || after_acronym) {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_separated_and_lowered() {
        for (name, kind) in [
            ("SendReceipt", "send_receipt"),
            ("HTTPFetch", "http_fetch"),
            ("FetchHTTP", "fetch_http"),
            ("ParseXMLFile", "parse_xml_file"),
            ("Sha256Sum", "sha256_sum"),
            ("SHA256Sum", "sha256_sum"),
            ("Utf8", "utf8"),
            ("A", "a"),
            ("ABTest", "ab_test"),
            ("already_snake", "already_snake"),
            ("Mixed_Case", "mixed_case"),
            ("ÜberMail", "über_mail"),
        ] {
            assert_eq!(snake_case(name), kind);
        }
    }

    #[test]
    fn raw_identifiers_lose_their_prefix() {
        let name: Ident = syn::parse_quote!(r#Type);
        assert_eq!(of_struct(&name, &mut Mistakes::default()), "type");
    }

    #[test]
    fn only_printable_names_of_1_to_128_bytes_are_stored() {
        for good in ["a", "send receipt", "überweisung", &"x".repeat(128)] {
            assert_eq!(refusal(good), None, "{good:?}");
        }
        for bad in ["", "a\0b", "a\nb", "self.queue", &"x".repeat(129), &"ü".repeat(65)] {
            assert!(refusal(bad).is_some(), "{bad:?}");
        }
    }
}
