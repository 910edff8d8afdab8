use crate::forbid;
use crate::layers::{module_of, names};
use crate::sources::{self, Source};

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

#[test]
fn the_dashboard_imports_from_lower_floors() {
    let breaches = floor_breaches(&sources::rust());
    forbid("a file of jobkit-admin imports from its floor and those below", breaches);
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
