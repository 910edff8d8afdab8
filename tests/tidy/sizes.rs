use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::forbid;
use crate::sources::{self, Source};

const FUNCTION: usize = 50;
const COLUMNS: usize = 100;

/// Longer functions there are for now, as "file: function". Only ever remove from this list.
const LONG_FUNCTIONS: &[&str] = &[];

/// Lines a file may have; the first prefix that fits counts.
const FILES: [(&str, &str, usize); 6] = [
    ("bench/peers/limit/", ".rs", 360),
    ("jobkit/src/", ".sql", 40),
    ("tests/private-postgres/src/", ".rs", 350),
    ("tests/", ".rs", 500),
    ("examples/", ".rs", 500),
    ("", ".rs", 350),
];

#[derive(Default)]
struct Functions(Vec<(String, usize, usize)>);

impl Functions {
    /// From the signature to the closing brace: documentation is not counted.
    fn add(&mut self, signature: &syn::Signature, end: Span) {
        let first = sources::line(signature.span());
        let lines = end.end().line + 1 - first;
        self.0.push((signature.ident.to_string(), first, lines));
    }
}

impl<'a> Visit<'a> for Functions {
    fn visit_item_fn(&mut self, function: &'a syn::ItemFn) {
        self.add(&function.sig, function.block.span());
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'a syn::ImplItemFn) {
        self.add(&function.sig, function.block.span());
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'a syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.add(&function.sig, block.span());
        }
        visit::visit_trait_item_fn(self, function);
    }
}

/// The long functions of a file: name for the list, and where.
fn long_functions(source: &Source) -> Vec<(String, String)> {
    let mut functions = Functions::default();
    source.visit(&mut functions);
    let long = functions.0.into_iter().filter(|(_, _, lines)| *lines > FUNCTION);
    long.map(|(name, first, lines)| {
        let place = format!("{}: {name} has {lines}", source.at(first));
        (format!("{}: {name}", source.path), place)
    })
    .collect()
}

#[test]
fn functions_are_short() {
    let long: Vec<_> = sources::rust().iter().flat_map(long_functions).collect();
    let listed = |name: &str| LONG_FUNCTIONS.contains(&name);
    let new = long.iter().filter(|(name, _)| !listed(name)).map(|(_, place)| place.clone());
    forbid("a function has at most 50 lines", new);
    let outgrown = |name: &&&str| long.iter().all(|(found, _)| found != **name);
    let outgrown = LONG_FUNCTIONS.iter().filter(outgrown).map(|name| (*name).to_owned());
    forbid("remove from LONG_FUNCTIONS what is short now", outgrown);
}

fn limit(source: &Source) -> Option<usize> {
    let fits = |(folder, extension, _): &&(&str, &str, usize)| {
        source.path.starts_with(folder) && source.path.ends_with(extension)
    };
    FILES.iter().find(fits).map(|(_, _, limit)| *limit)
}

#[test]
fn files_are_short() {
    let breaches = sources::all().into_iter().filter_map(|source| {
        let (limit, lines) = (limit(&source)?, source.text.lines().count());
        (lines > limit).then(|| format!("{} has {lines} of {limit}", source.at(1)))
    });
    forbid("a file keeps to the lines of its kind", breaches);
}

/// "A program of 40 lines": what another driver asks for is little.
#[test]
fn examples_with_other_drivers_are_short() {
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
    let mut examples = sources::rust();
    examples.retain(|source| source.path.starts_with("examples/drivers/"));
    let breaches = examples.iter().filter_map(|source| {
        let lines = source.text.lines().filter(is_code).count();
        (lines > 40).then(|| format!("{} has {lines}", source.at(1)))
    });
    forbid("an example with another driver has 40 lines of code at most", breaches);
    assert_eq!(examples.len(), 2, "there is one with SeaORM and one with tokio-postgres");
}

#[test]
fn lines_are_short() {
    let mut breaches = Vec::new();
    for source in sources::rust().iter().chain(&sources::sql()) {
        let long = source.lines().filter(|(_, line)| line.chars().count() > COLUMNS);
        breaches.extend(long.map(|(number, _)| source.at(number)));
    }
    forbid("a line has at most 100 columns", breaches);
}

#[test]
fn a_long_function_is_found() {
    let text = format!("/// Long.\nfn long() {{\n{}}}\n", "    work();\n".repeat(49));
    let source = Source { path: "long.rs".to_owned(), text };
    let found = long_functions(&source);
    assert_eq!(found[0].1, "long.rs:2: long has 51");
}
