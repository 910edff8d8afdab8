//! Hidden values: where they are in a payload, and how they are removed from texts.

mod forms;
mod places;
mod views;

#[cfg(feature = "encrypt")]
pub(crate) use self::places::Entries;
pub(crate) use self::places::{astray, hidden_texts};
use self::views::View;

/// The placeholder for a hidden value.
pub(crate) const HIDDEN: &str = "•••";

/// How much of a text is searched for hidden values; the rest is cut.
const LOOKED_AT: usize = 128 * 1024;

/// How many bytes of a text a byte of a value may take, as [`scrubbed`] knows it: `%C3%A9`.
pub(crate) const WIDEST: usize = 6;

/// This text without these values, however they are written in it: as they are or in another case,
/// with the escapes of JSON, `Debug`, HTML, URLs and forms, in base64 also within a longer text,
/// and in hexadecimal.
pub(crate) fn scrubbed(text: &str, hidden: &[String]) -> String {
    if hidden.is_empty() {
        return text.to_owned();
    }
    let mut text = text;
    if text.len() > LOOKED_AT {
        let longest = hidden.iter().map(String::len).max().unwrap_or(0);
        text = &text[..text.floor_char_boundary(LOOKED_AT.saturating_sub(WIDEST * longest))];
    }
    let needles: Vec<_> = hidden.iter().map(|value| forms::of(value)).collect();
    let mut found = Vec::new();
    for view in View::all(text) {
        needles.iter().for_each(|needles| view.find(needles, &mut found));
    }
    found.sort_by_key(|place| place.start);
    let (mut out, mut shown) = (String::with_capacity(text.len()), 0);
    for place in found {
        if place.start >= shown {
            out.push_str(&text[shown..place.start]);
            out.push_str(HIDDEN);
        }
        shown = shown.max(place.end);
    }
    out + &text[shown..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_values_are_taken_out_of_texts() {
        let json = r#"{"token": "se\"cret", "pin": 12, "card": {"n": [123456]}, "shown": "shown"}"#;
        let hidden = hidden_texts(json, &["token", "pin", "card", "none.x"]);
        let text = r#"se"cret and "se\"cret", 12 of 123456 shown"#;
        assert_eq!(scrubbed(text, &hidden), r#"••• and "•••", 12 of ••• shown"#);
        assert_eq!(scrubbed("se\"cretse\"cret!", &hidden), "••••••!");
        assert_eq!(scrubbed(text, &[]), text);
    }

    #[test]
    fn a_value_is_found_however_it_is_written() {
        let secret = "tök+en /\u{200b}'<&>\"9Z?";
        let hidden = [secret.to_owned()];
        let json = serde_json::Value::from(secret).to_string();
        let twice = serde_json::Value::from(&*json).to_string();
        for text in [
            secret.to_owned(),
            secret.to_uppercase(),
            secret.to_lowercase(),
            format!("{secret:?}"),
            format!("{json:?}"),
            json,
            twice,
            r#"t\u00f6k+en /\u200B'<&>"9Z?"#.to_owned(),
            "t%C3%B6k%2Ben%20%2F%E2%80%8B%27%3C%26%3E%229Z%3F".to_owned(),
            "t%c3%b6k+en%20/%e2%80%8b'%3c&%3e%229Z%3f".to_owned(),
            "t%C3%B6k%2Ben+%2F%E2%80%8B%27%3C%26%3E%229Z%3F".to_owned(),
            "t%25C3%25B6k%252Ben%2520%252F%25E2%2580%258B%2527%253C%2526%253E%25229Z%253F".into(),
            "tök+en /\u{200b}&#39;&lt;&amp;&gt;&quot;9Z?".to_owned(),
            "t&#xF6;k+en /&#8203;&apos;&lt;&amp;&gt;&#x22;9Z?".to_owned(),
            secret.bytes().map(|byte| format!("{byte:02x}")).collect(),
            secret.bytes().map(|byte| format!("{byte:02X}")).collect(),
            format!("{:?}", secret.as_bytes()),
        ] {
            let shown = scrubbed(&format!("a {text} z"), &hidden);
            assert!(shown.starts_with("a ") && shown.ends_with(" z"), "{shown}");
            assert!(shown.contains(HIDDEN) && !shown.contains("9Z"), "{text}: {shown}");
        }
    }

    /// From RFC 7617, and the same at other places of the three bytes that four characters mean.
    #[test]
    fn a_value_is_found_in_base64() {
        let hidden = ["open sesame".to_owned()];
        let text = "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==, it said";
        assert_eq!(scrubbed(text, &hidden), "Authorization: Basic •••, it said");
        for text in
            ["b3BlbiBzZXNhbWU=", "b3BlbiBzZXNhbWU", "eG9wZW4gc2VzYW1leQ==", "eHhvcGVuIHNlc2FtZQ"]
        {
            assert_eq!(scrubbed(&format!("({text})"), &hidden), "(•••)", "{text}");
        }
        let hidden = ["\u{fb}\u{ff}?>~pass".to_owned()];
        for text in ["w7vDvz8+fnBhc3M=", "w7vDvz8-fnBhc3M", "w7vDvz8%2BfnBhc3M%3D"] {
            assert_eq!(scrubbed(text, &hidden), HIDDEN, "{text}");
        }
    }

    #[test]
    fn what_is_no_value_stays_as_it_is() {
        let hidden = ["secret".to_owned(), "x+y%z&amp;".to_owned()];
        let text = r"100 % of 1 + 1 \ \u{} \q &lt &#; %zz é\";
        assert_eq!(scrubbed(text, &hidden), text);
        assert_eq!(scrubbed("x+y%z&amp;!", &hidden), "•••!");
        let long = "é".repeat(LOOKED_AT) + "secret";
        assert!(scrubbed(&long, &hidden).len() < LOOKED_AT);
    }
}
