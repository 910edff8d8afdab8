use std::collections::{BTreeMap, BTreeSet};

use syn::visit::Visit;

use crate::forbid;
use crate::layers::{ABOVE_PURE, PURE, from_root, module_of, names, relative};
use crate::sources::{self, Source};

/// Crates without a circle of files that import each other; in `jobkit` each is within one room.
const WITHOUT_CIRCLES: [&str; 2] = ["jobkit-admin", "jobkit-macros"];

/// What a file shows under a name of its own that is another's.
#[derive(Default)]
struct Shown {
    prefix: Vec<String>,
    found: Vec<(String, Vec<String>)>,
}

impl<'a> Visit<'a> for Shown {
    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        if !matches!(item.vis, syn::Visibility::Inherited) {
            syn::visit::visit_item_use(self, item);
        }
    }

    fn visit_item_mod(&mut self, _: &'a syn::ItemMod) {}

    fn visit_use_path(&mut self, path: &'a syn::UsePath) {
        self.prefix.push(path.ident.to_string());
        syn::visit::visit_use_path(self, path);
        self.prefix.pop();
    }

    fn visit_use_name(&mut self, name: &'a syn::UseName) {
        let name = name.ident.to_string();
        self.found.push((name.clone(), [&self.prefix[..], &[name]].concat()));
    }

    fn visit_use_rename(&mut self, name: &'a syn::UseRename) {
        let of = name.ident.to_string();
        self.found.push((name.rename.to_string(), [&self.prefix[..], &[of]].concat()));
    }
}

fn shown(source: &Source, module: &[String]) -> BTreeMap<String, Vec<String>> {
    let mut shown = Shown::default();
    source.visit(&mut shown);
    let module: Vec<&str> = module.iter().map(String::as_str).collect();
    let inside = |(name, path): (String, Vec<String>)| Some((name, from_root(&path, &module)?));
    shown.found.into_iter().filter_map(inside).collect()
}

/// The files that each file of a crate imports from. To show what is another's is no import.
fn imports(of: &str, sources: &[Source]) -> BTreeMap<String, BTreeSet<String>> {
    let modules: BTreeMap<Vec<String>, &Source> = sources
        .iter()
        .filter_map(|source| Some((owned(&module_of(of, source)?), source)))
        .collect();
    let shown: BTreeMap<&[String], BTreeMap<String, Vec<String>>> =
        modules.iter().map(|(module, source)| (&module[..], shown(source, module))).collect();
    // Where a room shows what is another's, that other is meant.
    let file = |path: Vec<String>| {
        let mut path = path;
        for _ in 0..10 {
            let end = (0..=path.len()).rev().find(|end| modules.contains_key(&path[..*end]))?;
            match path.get(end).and_then(|name| shown[&path[..end]].get(name)) {
                Some(other) => path = [&other[..], &path[end + 1..]].concat(),
                None => return Some(modules[&path[..end]].path.clone()),
            }
        }
        None
    };
    let of_file = |(module, source): (&Vec<String>, &&Source)| {
        let module: Vec<&str> = module.iter().map(String::as_str).collect();
        let named = names(source, &module);
        // `pub(super)` names a room that it is in; `use a::b` names a, too, on the way.
        let goes_on = |path: &[String]| {
            named.iter().any(|(other, _)| other.len() > path.len() && other.starts_with(path))
        };
        let is_shown = |path: &[String]| shown[&owned(&module)[..]].values().any(|to| to == path);
        let is_way =
            |path: &[String]| owned(&module).starts_with(path) || goes_on(path) || is_shown(path);
        let named: Vec<_> = named.iter().filter(|(path, _)| !is_way(path)).cloned().collect();
        let named = named.into_iter();
        let within = relative(source).into_iter().map(|path| [owned(&module), path].concat());
        let within = within.filter(|path| modules.contains_key(&path[..=module.len()]));
        let others = named.map(|(path, _)| path).chain(within).filter_map(file);
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

/// All that a file imports, by however many steps. The root names everything, and what is named by
/// way of it is what it shows: nothing is reached through it.
fn reached(imports: &BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut next = vec![from];
    while let Some(file) = next.pop() {
        for other in imports.get(file).into_iter().flatten() {
            if room(other) != "lib" && found.insert(other.clone()) {
                next.push(other);
            }
        }
    }
    found
}

/// The room of a file: what is under its first name.
fn room(path: &str) -> &str {
    let inside = path.split("/src/").nth(1).unwrap_or(path);
    inside.split('/').next().unwrap_or(inside).trim_end_matches(".rs")
}

/// Pairs of files of two rooms that import each other, by however many steps.
fn shared_circles(of: &str, sources: &[Source]) -> Vec<String> {
    let imports = imports(of, sources);
    let all: BTreeMap<&String, BTreeSet<String>> =
        imports.keys().map(|file| (file, reached(&imports, file))).collect();
    let mut found = Vec::new();
    for (file, others) in &all {
        let back = |other: &&String| all.get(other).is_some_and(|back| back.contains(*file));
        let both = others.iter().filter(|other| room(file) < room(other)).filter(back);
        found.extend(both.map(|other| format!("{file} and {other}")));
    }
    found
}

/// What a pure module of `jobkit` reaches that it must not, by however many steps.
fn impure(sources: &[Source]) -> Vec<String> {
    let imports = imports("jobkit", sources);
    let pure = imports.keys().filter(|file| PURE.contains(&room(file)));
    pure.flat_map(|file| {
        let above = reached(&imports, file).into_iter();
        let above = above.filter(|other| ABOVE_PURE.contains(&room(other)));
        above.map(move |other| format!("{file} reaches {other}")).collect::<Vec<_>>()
    })
    .collect()
}

#[test]
fn no_files_import_each_other() {
    let sources = sources::rust();
    let found = WITHOUT_CIRCLES.iter().flat_map(|of| circles(of, &sources));
    forbid("no file imports itself by way of others", found);
}

#[test]
fn no_two_rooms_of_the_library_import_each_other() {
    let found = shared_circles("jobkit", &sources::rust());
    forbid("a circle of files stays within one room", found);
}

#[test]
fn the_pure_modules_reach_nothing_above_them() {
    forbid("a pure module reaches no database and no engine", impure(&sources::rust()));
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

#[test]
fn circles_of_rooms_and_what_is_shown_are_found() {
    let source = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
    let mut sources = vec![
        source(
            "jobkit/src/lib.rs",
            "mod policy; mod hooks; mod store; pub use crate::store::Link;",
        ),
        source("jobkit/src/policy.rs", "use crate::hooks::Hook;"),
        source("jobkit/src/hooks.rs", "mod told; pub(crate) use self::told::Hook;"),
        source("jobkit/src/hooks/told.rs", "use super::kept; pub struct Hook;"),
        source("jobkit/src/store.rs", "pub struct Link;"),
    ];
    assert!(shared_circles("jobkit", &sources).is_empty() && impure(&sources).is_empty());
    sources[3].text = "use crate::policy::Policy; pub struct Hook;".to_owned();
    let circle = "jobkit/src/hooks/told.rs and jobkit/src/policy.rs";
    assert_eq!(shared_circles("jobkit", &sources), [circle]);
    sources[3].text = "use crate::Link; pub struct Hook;".to_owned();
    assert_eq!(impure(&sources), ["jobkit/src/policy.rs reaches jobkit/src/store.rs"]);
}
