//! Escapes invisible characters that change how the text around them looks: controls, direction
//! marks, zero-width characters, and letters that look blank.

use std::fmt::Write;

pub(crate) fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{34f}'
            | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// A page without such characters. Text shows their code points; attributes have references, which
/// a browser sends back as the original characters. Every `<` or `>` belongs to a tag, since text
/// is already escaped.
pub(crate) fn named_in(page: String) -> String {
    if !page.contains(is_invisible) {
        return page;
    }
    let (mut named, mut in_tag) = (String::with_capacity(page.len() + 100), false);
    for c in page.chars() {
        in_tag = if in_tag { c != '>' } else { c == '<' };
        let written = match is_invisible(c) {
            true if in_tag => write!(named, "&#x{:x};", u32::from(c)),
            true => write!(named, "⟨U+{:04X}⟩", u32::from(c)),
            false => named.write_char(c),
        };
        written.unwrap_or_default();
    }
    named
}

/// JSON without such characters; in JSON, an escape stands for the same character.
pub(crate) fn escaped_in(json: &str) -> String {
    let (mut escaped, mut units) = (String::with_capacity(json.len()), [0; 2]);
    for c in json.chars() {
        if is_invisible(c) {
            for unit in c.encode_utf16(&mut units) {
                write!(escaped, "\\u{unit:04x}").unwrap_or_default();
            }
        } else {
            escaped.push(c);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_is_written_out() {
        let page = "<input value=\"a\u{202e}b\">a\u{202e}b\u{1b}\n".to_owned();
        assert_eq!(named_in(page), "<input value=\"a&#x202e;b\">a⟨U+202E⟩b⟨U+001B⟩\n");
        let json = escaped_in("{\"a\": \"\u{202e}\u{7f}\"}");
        assert_eq!(json, "{\"a\": \"\\u202e\\u007f\"}");
        let value: Option<serde_json::Value> = serde_json::from_str(&json).ok();
        assert_eq!(value, Some(serde_json::json!({"a": "\u{202e}\u{7f}"})));
    }
}
