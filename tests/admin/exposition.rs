//! A strict reader of what monitoring reads, by the rules of its two formats.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;
use std::str::Chars;

/// A value, with its name and its labels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) value: f64,
}

/// The samples of a page, each below the family that it belongs to.
pub(crate) fn read(page: &str, open: bool) -> Vec<Sample> {
    let mut lines: Vec<&str> = page.strip_suffix('\n').expect("a whole line").split('\n').collect();
    assert_eq!(lines.last() == Some(&"# EOF"), open, "{page}");
    lines.truncate(lines.len() - usize::from(open));
    let (mut samples, mut known, mut seen) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    let (mut helped, mut family, mut kind) = ("", "", "");
    for line in lines {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, text) = help.split_once(' ').expect("a text");
            assert!(!text.contains('\\') && known.insert(name), "{line}");
            helped = name;
        } else if let Some(typed) = line.strip_prefix("# TYPE ") {
            (family, kind) = typed.split_once(' ').expect("a type");
            assert_eq!(helped, family, "{line}");
        } else {
            let sample = sample(line);
            assert!(belongs(&sample.name, family, kind, open), "{line} is not of {family}");
            let series = (sample.name.clone(), sample.labels.clone());
            assert!(seen.insert(series), "{line} is there twice");
            samples.push(sample);
        }
    }
    samples
}

fn belongs(name: &str, family: &str, kind: &str, open: bool) -> bool {
    let rest = name.strip_prefix(family);
    match kind {
        "counter" if open => rest == Some("_total"),
        "counter" => rest == Some("") && name.ends_with("_total"),
        "gauge" => rest == Some(""),
        "histogram" => matches!(rest, Some("_bucket" | "_sum" | "_count")),
        _ => false,
    }
}

fn sample(line: &str) -> Sample {
    let mut rest = line.chars().peekable();
    let name = word(&mut rest);
    let mut labels = BTreeMap::new();
    if rest.next_if_eq(&'{').is_some() {
        loop {
            let label = word(&mut rest);
            assert_eq!((rest.next(), rest.next()), (Some('='), Some('"')), "{line}");
            assert_eq!(labels.insert(label, text(&mut rest, line)), None, "{line}");
            match rest.next() {
                Some(',') => {}
                Some('}') => break,
                other => panic!("{other:?} after a label: {line}"),
            }
        }
    }
    assert_eq!(rest.next(), Some(' '), "{line}");
    let value = rest.collect::<String>().parse().unwrap_or_else(|_| panic!("no number: {line}"));
    Sample { name, labels, value }
}

fn word(rest: &mut Peekable<Chars<'_>>) -> String {
    let mut word = String::new();
    while let Some(c) = rest.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
        word.push(c);
    }
    assert!(word.starts_with(|c: char| c.is_ascii_alphabetic()), "{word:?} is no name");
    word
}

/// What stands until the next quote that is not escaped.
fn text(rest: &mut Peekable<Chars<'_>>, line: &str) -> String {
    let mut text = String::new();
    loop {
        match rest.next().unwrap_or_else(|| panic!("no end of a text: {line}")) {
            '"' => return text,
            '\\' => text.push(match rest.next() {
                Some('n') => '\n',
                Some(c @ ('\\' | '"')) => c,
                other => panic!("{other:?} is no escape: {line}"),
            }),
            c => text.push(c),
        }
    }
}
