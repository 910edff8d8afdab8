//! Names that other job queues use for our arguments, and words for things that are not arguments.

use crate::suggest::nearest;

/// The probable meaning of a word that is not an argument.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Meant {
    /// This argument.
    Argument(&'static str),
    /// Something that is set elsewhere, or not at all.
    Elsewhere(&'static str),
}

/// Other words for our arguments.
const SYNONYMS: [(&str, &[&str]); 23] = [
    ("kind", &["name", "job_name", "task", "task_name", "job_type", "identifier"]),
    ("aliases", &["alias", "old_name", "old_kind", "renamed_from"]),
    ("queue", &["queue_name", "channel"]),
    ("max_attempts", &["retries", "max_retries", "retry", "max_retry", "tries", "max_tries"]),
    ("timeout", &["time_limit", "max_runtime", "max_duration", "deadline"]),
    ("expires", &["expires_in", "expiry", "expire", "expires_after", "start_within"]),
    ("retry_for", &["retry_until", "retry_timeout", "give_up_after"]),
    ("retention", &["ttl", "keep", "keep_for", "result_ttl"]),
    ("backoff", &["retry_backoff", "retry_delay", "retry_in", "retry_policy", "retry_strategy"]),
    ("concurrency_limit", &["concurrency", "max_concurrency", "max_concurrent", "parallelism"]),
    ("concurrency_key", &["key"]),
    ("rate", &["rate_limit", "throttle", "per_second"]),
    (
        "unique_key",
        &["unique", "unique_by", "dedupe", "dedup", "dedupe_key", "singleton", "job_key"],
    ),
    ("unique_while", &["unique_until", "unique_states"]),
    ("on_duplicate", &["on_conflict", "debounce", "conflict"]),
    ("coalesce_key", &["coalesce", "coalesce_by", "merge_key", "collapse_key", "chunk_key"]),
    ("schedule", &["cron", "every", "interval", "periodic", "recurring"]),
    ("result", &["output", "returns", "return_type", "keep_result", "store_result"]),
    ("chunk", &["batch", "batch_size", "chunk_size", "max_batch", "bulk"]),
    ("linger", &["chunk_timeout", "flush_after", "max_wait"]),
    ("subscribes", &["subscribe", "topic", "event", "on_event", "listens", "listens_to"]),
    ("encrypt", &["encrypted", "seal", "sealed", "cipher"]),
    ("redact", &["secret", "sensitive", "hide", "hidden", "mask", "skip"]),
];

const DELAY: &str =
    "a delay is set when a job is enqueued: `.options().after(…)` or `.options().at(…)`";
const STATE: &str = "the state is a parameter of the trait: `impl Job<App> for …`";

const TAGS: &str = "tags are set when a job is enqueued: `.options().tags([…])`";

/// Words for things that are not arguments.
const ELSEWHERE: [(&str, &[&str]); 3] = [
    (TAGS, &["tags", "tag", "labels", "label"]),
    (DELAY, &["delay", "delay_for", "after", "at", "run_at", "run_in", "wait", "scheduled_at"]),
    (STATE, &["state", "context", "ctx", "data", "app"]),
];

/// The probable meaning of a word that is none of these arguments.
pub(crate) fn meant(
    word: &str,
    arguments: impl IntoIterator<Item = &'static str>,
) -> Option<Meant> {
    let lower = word.to_lowercase();
    let known = |words: &[&str]| words.contains(&&*lower);
    if let Some((argument, _)) = SYNONYMS.iter().find(|(_, words)| known(words)) {
        return Some(Meant::Argument(argument));
    }
    if let Some((message, _)) = ELSEWHERE.iter().find(|(_, words)| known(words)) {
        return Some(Meant::Elsewhere(message));
    }
    nearest(word, arguments).map(Meant::Argument)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::ARGUMENTS;

    #[test]
    fn every_synonym_is_of_an_argument_and_is_none_itself() {
        let is_argument = |word: &str| ARGUMENTS.iter().any(|(name, _)| *name == word);
        for (argument, words) in SYNONYMS {
            assert!(is_argument(argument), "{argument}");
            assert!(!words.iter().any(|word| is_argument(word)), "{words:?}");
        }
        for (_, words) in ELSEWHERE {
            assert!(!words.iter().any(|word| is_argument(word)), "{words:?}");
        }
    }

    #[test]
    fn no_word_means_two_things() {
        let all = SYNONYMS.iter().chain(&ELSEWHERE).flat_map(|(_, words)| *words);
        let mut all: Vec<_> = all.collect();
        all.sort();
        let number = all.len();
        all.dedup();
        assert_eq!(all.len(), number);
    }

    #[test]
    fn what_is_no_synonym_may_be_misspelt() {
        let names = || ARGUMENTS.iter().map(|(name, _)| *name);
        assert_eq!(meant("Retries", names()), Some(Meant::Argument("max_attempts")));
        assert_eq!(meant("quue", names()), Some(Meant::Argument("queue")));
        assert_eq!(meant("cron", names()), Some(Meant::Argument("schedule")));
        assert_eq!(meant("delay", names()), Some(Meant::Elsewhere(DELAY)));
        assert_eq!(meant("tags", names()), Some(Meant::Elsewhere(TAGS)));
        assert_eq!(meant("colour", names()), None);
    }
}
