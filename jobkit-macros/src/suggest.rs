use std::fmt::Write;

/// How alike two words must be for one to be a misspelling of the other (Jaro-Winkler).
const ALIKE: f64 = 0.85;

/// The probable candidate for `word`: it was misspelt, or is only the last part.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (likeness(word, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

fn likeness(word: &str, candidate: &str) -> f64 {
    let is_last_part = candidate.strip_suffix(word).is_some_and(|rest| rest.ends_with('_'));
    if is_last_part { ALIKE } else { strsim::jaro_winkler(word, candidate) }
}

/// `` `a`, `b` and `c` ``, for messages.
pub(crate) fn listed<'a>(words: impl ExactSizeIterator<Item = &'a str>) -> String {
    let mut list = String::new();
    let last = words.len().saturating_sub(1);
    for (at, word) in words.enumerate() {
        let between = match at {
            0 => "",
            _ if at == last => " and ",
            _ => ", ",
        };
        write!(list, "{between}`{word}`").expect("writing to a string does not fail");
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 5] =
        ["queue", "max_attempts", "dead_letter_key", "concurrency_key", "concurrency_limit"];

    #[test]
    fn a_misspelling_finds_its_word() {
        assert_eq!(nearest("concurency_key", NAMES), Some("concurrency_key"));
        assert_eq!(nearest("deadletter_key", NAMES), Some("dead_letter_key"));
        assert_eq!(nearest("quue", NAMES), Some("queue"));
        assert_eq!(nearest("Queue", NAMES), Some("queue"));
    }

    #[test]
    fn the_last_part_of_a_word_finds_it() {
        assert_eq!(nearest("limit", NAMES), Some("concurrency_limit"));
        assert_eq!(nearest("key", NAMES), Some("concurrency_key"), "the last of several");
        assert_eq!(nearest("attempts", NAMES), Some("max_attempts"));
    }

    #[test]
    fn a_word_like_none_of_them_finds_nothing() {
        assert_eq!(nearest("colour", NAMES), None);
    }

    #[test]
    fn lists_read_as_prose() {
        assert_eq!(listed(["a", "b", "c"].into_iter()), "`a`, `b` and `c`");
        assert_eq!(listed(["a"].into_iter()), "`a`");
    }
}
