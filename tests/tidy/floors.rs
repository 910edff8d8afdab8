use std::collections::{BTreeMap, BTreeSet};

use crate::forbid;
use crate::layers::{module_of, names, relative};
use crate::sources::{self, Source};

/// Crates without a circle of files that import each other. `jobkit` is to follow.
const WITHOUT_CIRCLES: [&str; 2] = ["jobkit-admin", "jobkit-macros"];

/// The floors of `jobkit-admin`, from the ground up. A file imports from its own floor and from
/// those below it. `cli` is a house of its own, on top.
const FLOORS: [&[&str]; 12] = [
    &["access", "cached", "compression", "signals", "totals"],
    &["format"],
    &["failure"],
    &["request"],
    &["shared"],
    &["context"],
    &["assets"],
    &["render"],
    &["api", "endpoint", "events", "metrics", "pages"],
    &["guard"],
    &["routes"],
    &["dashboard"],
];

/// What the command line may import: values and how they are written, and the dashboard it serves.
const BELOW_CLI: [&str; 5] = ["access", "cli", "dashboard", "format", "shared"];

fn floor(module: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&module))
}

/// Whether a file of one room may import from another.
fn may_import(from: &str, other: &str) -> bool {
    match (from, floor(from), floor(other)) {
        ("cli", ..) => BELOW_CLI.contains(&other),
        // Pages and API do not know each other.
        ("api", ..) if other == "pages" => false,
        ("pages", ..) if other == "api" => false,
        (_, Some(from), Some(other)) => other <= from,
        _ => false,
    }
}

fn floor_breaches(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources {
        // The crate's root and the binary import from everywhere.
        let module = module_of("jobkit-admin", source);
        let Some(module) = module.filter(|module| !module.is_empty() && module[0] != "bin") else {
            continue;
        };
        if module[0] != "cli" && floor(module[0]).is_none() {
            found.push(format!("{} stands on no floor", source.at(1)));
        }
        let named = names(source, &module).into_iter();
        found.extend(named.filter(|(path, _)| !may_import(module[0], &path[0])).map(|(_, at)| at));
    }
    // `use a::{b, c}` names a, a::b and a::c; the first says enough.
    found.dedup_by_key(|place| place.split(' ').next().map(str::to_owned));
    found
}

/// The files that each file of a crate imports from.
fn imports(of: &str, sources: &[Source]) -> BTreeMap<String, BTreeSet<String>> {
    let modules: BTreeMap<Vec<String>, &Source> = sources
        .iter()
        .filter_map(|source| Some((owned(&module_of(of, source)?), source)))
        .collect();
    let file = |path: &[String]| {
        let longest = (0..=path.len()).rev().find_map(|end| modules.get(&path[..end]));
        longest.map(|source| source.path.clone())
    };
    let of_file = |(module, source): (&Vec<String>, &&Source)| {
        let module: Vec<&str> = module.iter().map(String::as_str).collect();
        // `pub(super)`, and the beginning of `use super::other`, name a room that it is in.
        let is_way = |path: &[String]| owned(&module).starts_with(path);
        let named = names(source, &module).into_iter().filter(|(path, _)| !is_way(path));
        let within = relative(source).into_iter().map(|path| [owned(&module), path].concat());
        let within = within.filter(|path| modules.contains_key(&path[..=module.len()]));
        let others = named.map(|(path, _)| path).chain(within).filter_map(|path| file(&path));
        (source.path.clone(), others.filter(|other| *other != source.path).collect())
    };
    modules.iter().map(of_file).collect()
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The files that import, by however many steps, themselves: what is left when those are taken
/// away, again and again, that import nothing which is left, or that nothing left imports.
fn circles(of: &str, sources: &[Source]) -> Vec<String> {
    let mut left = imports(of, sources);
    loop {
        let imported: BTreeSet<String> = left.values().flatten().cloned().collect();
        let before = left.len();
        left.retain(|file, others| imported.contains(file) && !others.is_empty());
        let files: BTreeSet<String> = left.keys().cloned().collect();
        left.values_mut().for_each(|others| others.retain(|other| files.contains(other)));
        if left.len() == before {
            break;
        }
    }
    let line = |(file, others): (String, BTreeSet<String>)| {
        format!("{file} imports {}", others.into_iter().collect::<Vec<_>>().join(", "))
    };
    left.into_iter().map(line).collect()
}

#[test]
fn the_dashboard_imports_from_lower_floors() {
    let breaches = floor_breaches(&sources::rust());
    forbid("a file of jobkit-admin imports from its floor and those below", breaches);
}

#[test]
fn no_files_import_each_other() {
    let sources = sources::rust();
    let found = WITHOUT_CIRCLES.iter().flat_map(|of| circles(of, &sources));
    forbid("no file imports itself by way of others", found);
}

#[test]
fn breaches_are_found() {
    let source = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
    let bad = [
        source("jobkit-admin/src/context.rs", "use std::fmt;\nuse crate::{access, pages::jobs};"),
        source("jobkit-admin/src/api/read.rs", "use crate::pages;"),
        source("jobkit-admin/src/pages/job.rs", "fn f() { crate::context::g(); }"),
        source("jobkit-admin/src/cli/jobs.rs", "use crate::pages;"),
        source("jobkit-admin/src/attic.rs", ""),
    ];
    assert_eq!(
        floor_breaches(&bad),
        [
            "jobkit-admin/src/context.rs:2 names pages",
            "jobkit-admin/src/api/read.rs:1 names pages",
            "jobkit-admin/src/cli/jobs.rs:1 names pages",
            "jobkit-admin/src/attic.rs:1 stands on no floor",
        ]
    );
}

#[test]
fn circles_are_found() {
    let source = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
    let mut sources = vec![
        source("one/src/lib.rs", "mod a; mod b; mod c; mod d; pub use crate::a::A;"),
        source("one/src/a.rs", "use crate::b::f; use crate::d;"),
        source("one/src/b.rs", "fn f() { crate::c::g(); }"),
        source("one/src/c/mod.rs", "use super::d; pub(super) fn g() {}"),
        source("one/src/d.rs", "#[cfg(test)] mod tests { use crate::a; }"),
    ];
    assert!(circles("one", &sources).is_empty());
    sources[3].text = "use super::a::A;".to_owned();
    assert_eq!(
        circles("one", &sources),
        [
            "one/src/a.rs imports one/src/b.rs",
            "one/src/b.rs imports one/src/c/mod.rs",
            "one/src/c/mod.rs imports one/src/a.rs",
        ]
    );

    sources[3].text = "fn g() { d::h(); }".to_owned();
    sources.push(source("one/src/c/d.rs", "use crate::a;"));
    assert_eq!(circles("one", &sources).len(), 4, "the room in a room is seen");
}
