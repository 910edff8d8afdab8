use std::collections::BTreeMap;

use crate::forbid;
use crate::sources::{self, Source};

const MIGRATIONS: &str = "migrations/";

/// The statements: the runtime's in `store/sql/`, each noun's of the operators in its own `sql/`.
fn statements() -> Vec<Source> {
    under("jobkit/src/")
}

fn under(folder: &str) -> Vec<Source> {
    sources::sql().into_iter().filter(|source| source.path.starts_with(folder)).collect()
}

/// How often the library's code contains a text.
fn occurrences(code: &[Source], text: &str) -> usize {
    code.iter().flat_map(Source::code).map(|(_, line)| line.matches(text).count()).sum()
}

fn library() -> Vec<Source> {
    let library = |source: &Source| source.path.starts_with("jobkit/src/");
    sources::rust().into_iter().filter(library).collect()
}

#[test]
fn every_file_opens_with_a_comment() {
    let all = [statements(), under(MIGRATIONS)].concat();
    let bare = all.iter().filter(|source| !source.text.starts_with("-- "));
    forbid("an SQL file opens with a comment", bare.map(|source| source.at(1)));
}

#[test]
fn every_statement_is_included_once() {
    let code = library();
    let breaches = statements().into_iter().filter_map(|source| {
        // The slash keeps `claim.sql` from being found in `jobs_claim.sql`.
        let times = occurrences(&code, &format!("/{}.sql\")", source.stem()));
        (times != 1).then(|| format!("{} is included {times} times", source.at(1)))
    });
    forbid("a statement is included exactly once", breaches);
}

#[test]
fn statements_lie_where_they_are_looked_for() {
    let folder = |path: &str| Some(path.rsplit_once('/')?.0.to_owned());
    let breaches = statements().into_iter().filter(|source| {
        let folder = folder(&source.path).unwrap_or_default();
        let noun =
            folder.strip_prefix("jobkit/src/admin/").and_then(|noun| noun.strip_suffix("/sql"));
        folder != "jobkit/src/store/sql" && noun.is_none_or(|noun| noun.contains('/'))
    });
    forbid("a statement lies in store/sql/ or in admin/<noun>/sql/", breaches.map(|s| s.at(1)));
}

#[test]
fn every_migration_is_listed_once() {
    let code = library();
    let breaches = under(MIGRATIONS).into_iter().filter_map(|source| {
        let stem = source.stem();
        let times = occurrences(&code, &format!("\"{stem}\""))
            + occurrences(&code, &format!("/{stem}.sql\""));
        (times != 1).then(|| format!("{} is listed {times} times", source.at(1)))
    });
    forbid("a migration is listed exactly once in the library", breaches);
}

/// The functions that a file creates and does not replace, each with its place.
fn created(source: &Source) -> Vec<(String, String)> {
    let name = |line: &str| {
        let rest = line.trim_start().strip_prefix("create function ")?;
        Some(rest.split(['(', ' ']).next().unwrap_or_default().to_owned())
    };
    let found = source.lines().filter_map(|(number, line)| Some((name(line)?, source.at(number))));
    found.collect()
}

#[test]
fn every_function_is_created_once() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, place) in under(MIGRATIONS).iter().flat_map(created) {
        places.entry(name).or_default().push(place);
    }
    let breaches = places.into_iter().filter(|(_, places)| places.len() > 1);
    forbid(
        "a function is created once, and replaced after that",
        breaches.map(|(name, places)| format!("{name}: {}", places.join(", "))),
    );
}
