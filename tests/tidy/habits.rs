use proc_macro2::TokenStream;
use syn::visit::{self, Visit};

use crate::forbid;
use crate::sources::{self, Source, line};

/// Finds `.unwrap()`, and lint attributes without a reason.
#[derive(Default)]
struct Habits {
    unwraps: Vec<usize>,
    unreasoned: Vec<usize>,
}

impl<'a> Visit<'a> for Habits {
    fn visit_expr_method_call(&mut self, call: &'a syn::ExprMethodCall) {
        if call.method == "unwrap" {
            self.unwraps.push(line(call.method.span()));
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_attribute(&mut self, attribute: &'a syn::Attribute) {
        let lint = ["allow", "expect"].iter().any(|name| attribute.path().is_ident(name));
        let tokens = attribute.meta.require_list().map(|list| &list.tokens);
        if lint && tokens.is_ok_and(|tokens| !has_reason(tokens)) {
            self.unreasoned.push(line(attribute.pound_token.spans[0]));
        }
    }
}

fn has_reason(tokens: &TokenStream) -> bool {
    tokens.clone().into_iter().any(|token| token.to_string() == "reason")
}

fn habits(source: &Source) -> Habits {
    let mut habits = Habits::default();
    source.visit(&mut habits);
    habits
}

/// The places in a file where its code, without comments, contains a text.
fn places(source: &Source, text: &str) -> Vec<String> {
    let found = source.code().filter(|(_, code)| code.contains(text));
    found.map(|(number, _)| source.at(number)).collect()
}

#[test]
fn nothing_is_unwrapped_outside_tests() {
    let sources = sources::rust().into_iter().filter(|source| !source.is_test());
    let breaches = sources.flat_map(|source| {
        habits(&source).unwraps.iter().map(|number| source.at(*number)).collect::<Vec<_>>()
    });
    forbid("`expect` states the invariant, `unwrap` says nothing", breaches);
}

#[test]
fn every_allowed_lint_has_a_reason() {
    let breaches = sources::rust().into_iter().flat_map(|source| {
        habits(&source).unreasoned.iter().map(|number| source.at(*number)).collect::<Vec<_>>()
    });
    forbid("`allow` and `expect` of lints come with a reason", breaches);
}

/// Whether statements are run in this file: what the runtime sends, or the operators' view of one
/// noun.
fn holds_statements(path: &str) -> bool {
    path.starts_with("jobkit/src/store/")
        || path.starts_with("jobkit/src/admin/") && path.ends_with("/statements.rs")
}

#[test]
fn queries_are_made_in_the_store_only() {
    let may = |path: &str| holds_statements(path) || path == "jobkit/src/migrate.rs";
    let library = |source: &Source| source.path.starts_with("jobkit") && !may(&source.path);
    let made = ["sqlx::query", "statements!", "Statement::new"];
    let sources = sources::rust().into_iter().filter(library);
    let breaches = sources.flat_map(|source| made.map(|text| places(&source, text)).concat());
    forbid(
        "statements are made by the store, migrate.rs and the statements.rs of a noun",
        breaches,
    );
}

#[test]
fn the_store_formats_nothing() {
    // A record is written from a list of columns, which nothing at run time adds to.
    let may = |path: &str| path == "jobkit/src/store/record.rs";
    let holds = |source: &Source| holds_statements(&source.path) && !may(&source.path);
    let breaches = sources::rust().into_iter().filter(holds);
    let breaches = breaches.flat_map(|source| places(&source, "format!"));
    forbid("a statement is put together by store/record.rs alone", breaches);
}

/// A comment that is a Rust statement rather than a sentence.
fn is_code(line: &str) -> bool {
    let Some(comment) = line.trim_start().strip_prefix("//") else { return false };
    let looks = comment.starts_with(' ') && comment.ends_with(';') && comment.contains(['(', '=']);
    looks && syn::parse_str::<syn::File>(&format!("fn f() {{ {comment} }}")).is_ok()
}

#[test]
fn no_code_is_commented_out() {
    let breaches = sources::rust().into_iter().flat_map(|source| {
        let found = source.lines().filter(|(_, line)| is_code(line));
        found.map(|(number, _)| source.at(number)).collect::<Vec<_>>()
    });
    forbid("old code is in the history, not in comments", breaches);
}

/// Folders of somebody's machine and hosts of somebody's registry. Written in two parts, since
/// this file is searched as well.
const PRIVATE: [&str; 10] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/tm", "p/"),
    concat!("/ho", "me/"),
    concat!("/Use", "rs/"),
    concat!("sparse", "+"),
    concat!("replace", "-with"),
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
    concat!("arti", "factory"),
];

fn names_a_machine(line: &str) -> bool {
    PRIVATE.iter().any(|text| {
        line.match_indices(text).any(|(at, _)| {
            // "network/" and the like are not folders at the root.
            let before = line[..at].chars().next_back();
            !text.starts_with('/')
                || before.is_none_or(|c| !(c.is_alphanumeric() || "._-~/*}".contains(c)))
        })
    })
}

#[test]
fn no_file_knows_a_machine() {
    let breaches = sources::all().into_iter().flat_map(|source| {
        let found = source.lines().filter(|(_, line)| names_a_machine(line));
        found.map(|(number, _)| source.at(number)).collect::<Vec<_>>()
    });
    forbid("paths and hosts of one machine mean nothing on the next", breaches);
}

#[test]
fn bad_habits_are_found() {
    let text = "#[allow(dead_code)]\nfn f() {\n    g().unwrap();\n}\n\
                #[cfg(test)]\nmod tests { fn f() { g().unwrap(); } }\n";
    let found = habits(&Source { path: "bad.rs".to_owned(), text: text.to_owned() });
    assert_eq!((found.unwraps, found.unreasoned), (vec![3], vec![1]));
    assert!(is_code("    // let x = f(1);") && !is_code("// It waits; f(x) does not;"));
    assert!(names_a_machine(concat!("cd /ro", "ot/x")));
    assert!(!names_a_machine(concat!("a/wo", "rk/x")));
}
