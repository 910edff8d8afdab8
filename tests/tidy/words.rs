//! English that comes back although it is not idiomatic, in what users read.

use crate::forbid;
use crate::sources::{self, Source};

/// The phrase, and what to write instead.
const BANNED: [(&str, &str); 10] = [
    ("those of them", "a noun"),
    ("by itself", "automatically"),
    ("by themselves", "automatically"),
    ("how it stands", "the status"),
    ("first first", "in the order in which"),
    ("is meant", "matches"),
    ("are meant", "match"),
    ("were meant", "matched"),
    ("meant by the filter", "matching"),
    (" as asked", "as requested"),
];

/// Path, phrase, and why it stays.
const EXCEPTIONS: [(&str, &str, &str); 0] = [];

const CRATES: [&str; 6] = [
    "jobkit/src/",
    "jobkit-macros/src/",
    "jobkit-admin/src/",
    "jobkit-drivers/src/",
    "jobkit-otel/src/",
    "jobkit-webhooks/src/",
];

/// The text of each paragraph of documentation (which is the command line's help, too) or of a
/// template, in one line, with the number of its first line. A phrase may be broken anywhere.
fn paragraphs(source: &Source) -> Vec<(usize, String)> {
    let template = source.path.ends_with(".html");
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (number, line) in source.lines() {
        let line = line.trim();
        let text = match template {
            true => Some(line),
            false => line.strip_prefix("///").or_else(|| line.strip_prefix("//!")),
        };
        let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else {
            open = false;
            continue;
        };
        let text = text.to_lowercase();
        match found.last_mut().filter(|_| open) {
            Some((_, paragraph)) => {
                paragraph.push(' ');
                paragraph.push_str(&text);
            }
            None => found.push((number, text)),
        }
        open = true;
    }
    found
}

fn breaches(source: &Source) -> Vec<String> {
    let excepted = |phrase: &str| {
        EXCEPTIONS.iter().any(|(path, banned, _)| source.path == *path && *banned == phrase)
    };
    let mut breaches = Vec::new();
    for (number, paragraph) in paragraphs(source) {
        for (phrase, instead) in BANNED {
            if paragraph.contains(phrase) && !excepted(phrase) {
                breaches.push(format!("{}: \"{phrase}\": {instead}", source.at(number)));
            }
        }
    }
    breaches
}

#[test]
fn documentation_is_idiomatic() {
    let read = |source: &Source| {
        let rust =
            source.path.ends_with(".rs") && CRATES.iter().any(|c| source.path.starts_with(c));
        rust || source.path.starts_with("jobkit-admin/templates/")
    };
    let sources: Vec<Source> = sources::all().into_iter().filter(read).collect();
    assert!(sources.iter().any(|source| source.path.ends_with(".html")));
    forbid("documentation is written in plain English", sources.iter().flat_map(breaches));
}

#[test]
fn phrases_are_found_across_lines() {
    let text = "/// Jobs, and those of\n/// them that wait.\nfn f() {}\n/// Fine.\n";
    let source = Source { path: "a.rs".to_owned(), text: text.to_owned() };
    assert_eq!(breaches(&source), ["a.rs:1: \"those of them\": a noun"]);
}
