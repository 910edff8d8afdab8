use jobkit_tests::tables;
use syn::visit::{self, Visit};

use crate::forbid;
use crate::sources::{self, Source, line};

/// Words that say nothing; in the name of a file or an item.
const EMPTY: [&str; 8] =
    ["common", "helper", "helpers", "manager", "misc", "util", "utils", "impl"];

/// Words that say nothing when they are the whole name of a file.
const EMPTY_ALONE: [&str; 2] = ["data", "info"];

const EMPTY_FIRST: [&str; 2] = ["do", "handle"];

#[derive(Default)]
struct Items(Vec<(String, usize)>);

impl Items {
    fn add(&mut self, ident: &syn::Ident) {
        self.0.push((ident.to_string(), line(ident.span())));
    }
}

impl<'a> Visit<'a> for Items {
    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.add(&item.sig.ident);
        visit::visit_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'a syn::ItemImpl) {
        // The names in the implementation of a trait are the trait's.
        if item.trait_.is_none() {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        self.add(&item.sig.ident);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'a syn::TraitItemFn) {
        self.add(&item.sig.ident);
    }

    fn visit_item_struct(&mut self, item: &'a syn::ItemStruct) {
        self.add(&item.ident);
    }

    fn visit_item_enum(&mut self, item: &'a syn::ItemEnum) {
        self.add(&item.ident);
    }

    fn visit_item_type(&mut self, item: &'a syn::ItemType) {
        self.add(&item.ident);
    }

    fn visit_item_trait(&mut self, item: &'a syn::ItemTrait) {
        self.add(&item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        self.add(&item.ident);
        visit::visit_item_mod(self, item);
    }
}

/// `WorkerHandle` and `worker_handle` alike are worker, handle.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for letter in name.chars() {
        if letter == '_' || letter == '-' || letter.is_uppercase() {
            words.push(String::new());
        }
        if letter.is_alphanumeric() {
            words.last_mut().unwrap().extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn is_empty(name: &str) -> bool {
    let words = words(name);
    let first = words.len() > 1 && EMPTY_FIRST.contains(&words[0].as_str());
    first || words.iter().any(|word| EMPTY.contains(&word.as_str()))
}

#[test]
fn files_have_telling_names() {
    let empty = |source: &&Source| {
        let folders = source.path.split('/').rev().skip(1).any(is_empty);
        folders || is_empty(source.stem()) || EMPTY_ALONE.contains(&source.stem())
    };
    let sources: Vec<Source> = sources::rust().into_iter().chain(sources::sql()).collect();
    let breaches = sources.iter().filter(empty).map(|source| source.at(1));
    forbid("a file is named after what is in it", breaches);
}

#[test]
fn items_have_telling_names() {
    let mut breaches = Vec::new();
    for source in sources::rust() {
        let mut items = Items::default();
        source.visit(&mut items);
        let statements = tables::statements(&source.text).into_iter();
        items.0.extend(statements.filter_map(|found| Some((found.name?, found.line))));
        let empty = items.0.iter().filter(|(name, _)| is_empty(name));
        breaches.extend(empty.map(|(name, number)| format!("{}: {name}", source.at(*number))));
    }
    forbid("an item is named after what it is or does", breaches);
}

#[test]
fn words_that_say_nothing_are_found() {
    assert!(
        ["JobManager", "do_work", "handle_error", "run_impl", "string_utils"].map(is_empty)
            == [true; 5]
    );
    assert!(["WorkerHandle", "done", "handler", "Utility", "dot_line"].map(is_empty) == [false; 5]);
}
