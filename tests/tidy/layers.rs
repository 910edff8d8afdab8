use syn::visit::{self, Visit};

use crate::forbid;
use crate::sources::{self, Source, line};

/// Modules that know nothing of the database or the engine.
pub(crate) const PURE: [&str; 13] = [
    "backoff",
    "context",
    "error",
    "histogram",
    "id",
    "job_type",
    "limits",
    "outcome",
    "policy",
    "redact",
    "states",
    "stored",
    "version",
];

/// What they must not import.
pub(crate) const ABOVE_PURE: [&str; 9] =
    ["Admin", "Worker", "admin", "enqueue", "migrate", "operating", "registry", "store", "worker"];

/// The store knows rows and options, never jobs or workers.
const ABOVE_STORE: [&str; 10] = [
    "Admin",
    "Job",
    "Worker",
    "admin",
    "enqueue",
    "job",
    "operating",
    "registration",
    "registry",
    "worker",
];

/// The operators' wing, by its two names at the root.
const OPERATORS: [&str; 2] = ["Admin", "admin"];

/// The services of a worker, by room; all under `duties/` are some. They do not know each other.
const SERVICES: [(&str, &str); 3] =
    [("claim", "claimer"), ("settle", "settler"), ("lease", "heartbeat")];

/// The rooms of the services. What they share is in `worker/shared/`.
const ROOMS: [&str; 5] = ["claim", "run", "settle", "lease", "duties"];

/// What of a room the others may know: where jobs come in that a call brings, and the lease.
const DOORS: [(&str, &str); 2] = [("run", "dispatch"), ("lease", "Lease")];

/// The files under `worker/` that wire the services.
const WIRING: [&str; 3] = ["duties", "handle", "start"];

/// The paths that a file names, in `use` and elsewhere, each with its line.
#[derive(Default)]
struct Paths {
    found: Vec<(Vec<String>, usize)>,
    prefix: Vec<String>,
}

impl Paths {
    fn add_use(&mut self, ident: &syn::Ident) {
        let mut path = self.prefix.clone();
        path.push(ident.to_string());
        self.found.push((path, line(ident.span())));
    }
}

impl<'a> Visit<'a> for Paths {
    fn visit_path(&mut self, path: &'a syn::Path) {
        let names = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.found.push((names, line(path.segments[0].ident.span())));
        visit::visit_path(self, path);
    }

    fn visit_use_path(&mut self, path: &'a syn::UsePath) {
        self.add_use(&path.ident);
        self.prefix.push(path.ident.to_string());
        visit::visit_use_path(self, path);
        self.prefix.pop();
    }

    fn visit_use_name(&mut self, name: &'a syn::UseName) {
        self.add_use(&name.ident);
    }

    /// What a macro takes is no syntax of Rust's; the paths in it are.
    fn visit_macro(&mut self, found: &'a syn::Macro) {
        let text = found.tokens.to_string().replace(" :: ", "::");
        let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
        let rooted = |word: &&str| {
            ["crate::", "self::", "super::"].iter().any(|start| word.starts_with(start))
        };
        let number = line(found.path.segments[0].ident.span());
        let names = |path: &str| path.split("::").map(str::to_owned).collect();
        self.found.extend(words.filter(rooted).map(|path| (names(path), number)));
        visit::visit_macro(self, found);
    }

    fn visit_use_rename(&mut self, rename: &'a syn::UseRename) {
        self.add_use(&rename.ident);
    }
}

/// The module a file is: `["worker", "claimer"]` for `jobkit/src/worker/claimer.rs`.
fn module(source: &Source) -> Option<Vec<&str>> {
    module_of("jobkit", source)
}

pub(crate) fn module_of<'a>(of: &str, source: &'a Source) -> Option<Vec<&'a str>> {
    let path = source.path.strip_prefix(of)?.strip_prefix("/src/")?.strip_suffix(".rs")?;
    let path = path.strip_suffix("/mod").unwrap_or(path);
    Some(path.split('/').filter(|part| *part != "lib").collect())
}

/// A path as seen from the root of the crate; `None` when it leads out of the crate.
pub(crate) fn from_root(path: &[String], module: &[&str]) -> Option<Vec<String>> {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let (start, rest) = match path.first()?.as_str() {
        "crate" => (Vec::new(), &path[1..]),
        "self" => (owned(module), &path[1..]),
        "super" => (owned(module.split_last()?.1), &path[1..]),
        _ => return None,
    };
    Some([start, rest.to_vec()].concat())
}

/// The paths that a file names and that do not say where they begin: of modules in it, and of what
/// is in its scope.
pub(crate) fn relative(source: &Source) -> Vec<Vec<String>> {
    let mut paths = Paths::default();
    source.visit(&mut paths);
    let starts = ["crate", "self", "super"];
    let paths = paths.found.into_iter().map(|(path, _)| path);
    paths.filter(|path| !starts.contains(&path[0].as_str())).collect()
}

/// What a file names in its crate, each with its place.
pub(crate) fn names(source: &Source, module: &[&str]) -> Vec<(Vec<String>, String)> {
    let mut paths = Paths::default();
    source.visit(&mut paths);
    let inside = |(path, number): (Vec<String>, usize)| {
        let path = from_root(&path, module).filter(|path| !path.is_empty())?;
        let place = format!("{} names {}", source.at(number), path.join("::"));
        Some((path, place))
    };
    paths.found.into_iter().filter_map(inside).collect()
}

/// Breaches of "the files that `which` picks must not name what `forbidden` picks".
fn breaches(
    sources: &[Source],
    which: impl Fn(&[&str]) -> bool,
    forbidden: impl Fn(&[&str], &[String]) -> bool,
) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources {
        if let Some(module) = module(source).filter(|module| which(module)) {
            let named = names(source, &module).into_iter();
            found.extend(named.filter(|(path, _)| forbidden(&module, path)).map(|(_, at)| at));
        }
    }
    // `use a::{b, c}` names a, a::b and a::c; the first says enough.
    found.dedup_by_key(|place| place.split(' ').next().map(str::to_owned));
    found
}

fn pure_breaches(sources: &[Source]) -> Vec<String> {
    let pure = |module: &[&str]| PURE.contains(module.first().unwrap_or(&""));
    breaches(sources, pure, |_, path| ABOVE_PURE.contains(&path[0].as_str()))
}

/// The service that a path within `worker` leads to.
fn service<T: AsRef<str>>(path: &[T]) -> Option<(&str, &str)> {
    let [worker, room, name, ..] = path else { return None };
    let (room, name) = (room.as_ref(), name.as_ref());
    let is_module = name.starts_with(char::is_lowercase);
    let is_service = SERVICES.contains(&(room, name)) || room == "duties" && is_module;
    (worker.as_ref() == "worker" && is_service).then_some((room, name))
}

fn service_breaches(sources: &[Source]) -> Vec<String> {
    breaches(
        sources,
        |module| {
            module.first() == Some(&"worker") && !(module.len() == 2 && WIRING.contains(&module[1]))
        },
        |module, path| service(path).is_some_and(|other| service(module) != Some(other)),
    )
}

/// Where a room of the services names more of another than its door.
fn room_breaches(sources: &[Source]) -> Vec<String> {
    let room =
        |module: &[&str]| module.len() > 1 && module[0] == "worker" && ROOMS.contains(&module[1]);
    breaches(sources, room, |module, path| {
        let [worker, other, name, ..] = path else { return false };
        worker == "worker"
            && ROOMS.contains(&other.as_str())
            && other != module[1]
            && !DOORS.contains(&(other.as_str(), name.as_str()))
    })
}

/// Where the runtime names the operators' wing. `lib.rs`, whose module is the root, shows both.
fn runtime_breaches(sources: &[Source]) -> Vec<String> {
    let runtime = |module: &[&str]| module.first().is_some_and(|first| *first != "admin");
    breaches(sources, runtime, |_, path| OPERATORS.contains(&path[0].as_str()))
}

#[test]
fn the_runtime_does_not_know_the_operators() {
    forbid("nothing outside admin/ but lib.rs names admin", runtime_breaches(&sources::rust()));
}

#[test]
fn the_layers_are_modules_that_exist() {
    let sources = sources::rust();
    let modules: Vec<_> = sources.iter().filter_map(module).collect();
    let exists = |name: &str| modules.iter().any(|module| module.first() == Some(&name));
    let layers = PURE.iter().chain(&ABOVE_PURE).chain(&ABOVE_STORE);
    let lower = layers.filter(|name| name.starts_with(char::is_lowercase));
    let gone = lower.filter(|name| !exists(name)).map(|name| (*name).to_owned());
    forbid("a layer is made of modules of jobkit", gone);
}

#[test]
fn the_pure_modules_import_nothing_above_them() {
    forbid("a pure module knows no database and no engine", pure_breaches(&sources::rust()));
}

#[test]
fn the_store_knows_no_jobs() {
    let store = |module: &[&str]| module.first() == Some(&"store");
    let found =
        breaches(&sources::rust(), store, |_, path| ABOVE_STORE.contains(&path[0].as_str()));
    forbid("the store knows rows, not jobs or workers", found);
}

#[test]
fn services_do_not_know_each_other() {
    forbid("only the wiring names a service", service_breaches(&sources::rust()));
}

#[test]
fn rooms_of_a_worker_share_what_is_in_between() {
    forbid("a room of a worker names another by its door alone", room_breaches(&sources::rust()));
}

#[test]
fn breaches_are_found() {
    let source = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
    let bad = [
        source("jobkit/src/policy.rs", "use std::fmt;\nuse crate::{Backoff, store::Link};"),
        source("jobkit/src/worker/duties/reaper.rs", "fn f() { super::pruner::days(); }"),
        source("jobkit/src/worker/run/dispatch.rs", "use crate::worker::claim::claimer::Claimer;"),
    ];
    assert_eq!(pure_breaches(&bad)[0], "jobkit/src/policy.rs:2 names store");
    assert_eq!(
        service_breaches(&bad),
        [
            "jobkit/src/worker/duties/reaper.rs:1 names worker::duties::pruner::days",
            "jobkit/src/worker/run/dispatch.rs:1 names worker::claim::claimer",
        ]
    );
    assert_eq!(
        room_breaches(&bad),
        ["jobkit/src/worker/run/dispatch.rs:1 names worker::claim::claimer"]
    );
    let bad = [
        source("jobkit/src/store/link.rs", "fn f() -> crate::admin::jobs::State { todo!() }"),
        source("jobkit/src/worker.rs", "use crate::{Admin, JobId};"),
        source("jobkit/src/store/claim.rs", "rows! { fn f() -> crate::admin::Count = \"\"; }"),
    ];
    assert_eq!(
        runtime_breaches(&bad),
        [
            "jobkit/src/store/link.rs:1 names admin::jobs::State",
            "jobkit/src/worker.rs:1 names Admin",
            "jobkit/src/store/claim.rs:1 names admin::Count",
        ]
    );
    let good = [
        source("jobkit/src/lib.rs", "pub mod admin; pub use crate::admin::Admin;"),
        source("jobkit/src/admin/jobs/mod.rs", "use crate::admin::Admin; use crate::store;"),
        source("jobkit/src/store/link.rs", "fn f() { let name = \"admin\"; use crate::JobId; }"),
    ];
    assert!(runtime_breaches(&good).is_empty());
    let good = [
        source("jobkit/src/policy.rs", "use crate::Backoff; #[cfg(test)] mod t { use super::*; }"),
        source("jobkit/src/worker/duties/reaper.rs", "use crate::worker::ticker::Duty;"),
    ];
    assert!(pure_breaches(&good).is_empty() && service_breaches(&good).is_empty());
}
