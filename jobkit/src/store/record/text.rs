//! Arrays as PostgreSQL reads them.

use std::borrow::Cow;

pub(in crate::store) fn array<'i>(items: impl Iterator<Item = Option<Cow<'i, str>>>) -> String {
    let mut array = String::from("{");
    for item in items {
        if array.len() > 1 {
            array.push(',');
        }
        match item {
            Some(item) => quote(&item, &mut array),
            None => array.push_str("null"),
        }
    }
    array.push('}');
    array
}

fn quote(item: &str, to: &mut String) {
    to.push('"');
    let mut rest = item;
    while let Some(at) = rest.find(['"', '\\']) {
        to.push_str(&rest[..at]);
        to.push('\\');
        to.push_str(&rest[at..=at]);
        rest = &rest[at + 1..];
    }
    to.push_str(rest);
    to.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_quoted() {
        let items = [Some("a"), None, Some(""), Some("\"b\\"), Some("null, ö{}")];
        let array = array(items.into_iter().map(|item| item.map(Cow::from)));
        assert_eq!(array, "{\"a\",null,\"\",\"\\\"b\\\\\",\"null, ö{}\"}");
        assert_eq!(super::array(std::iter::empty()), "{}");
    }
}
