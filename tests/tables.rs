//! The statements that stand in the library's source: those in `statements! { … }`, and the texts
//! given to `Statement::new`.

use std::path::{Path, PathBuf};

use proc_macro2::{Spacing, TokenStream, TokenTree};
use syn::visit::{self, Visit};

/// A statement in the source.
#[derive(Debug, PartialEq, Eq)]
pub struct InSource {
    /// The function that returns it; none of a text that one gives to `Statement::new`.
    pub name: Option<String>,
    /// Its line in the file, from 1.
    pub line: usize,
    /// How many parameters the function has.
    pub parameters: Option<usize>,
    /// The text.
    pub sql: Sql,
}

/// Where the text of a statement is.
#[derive(Debug, PartialEq, Eq)]
pub enum Sql {
    /// In the source.
    Here(String),
    /// In a file, by its path as the source has it.
    In(PathBuf),
}

/// The statements in the text of a Rust file, in their order.
///
/// # Panics
/// When the text is no Rust, or a table is not as the macro wants it.
#[must_use]
pub fn statements(source: &str) -> Vec<InSource> {
    let mut found = Found(Vec::new());
    found.visit_file(&syn::parse_file(source).expect("a file that compiles"));
    found.0
}

/// The Rust files under a folder, with their texts.
///
/// # Panics
/// When one cannot be read.
#[must_use]
pub fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).expect("a text");
            found.push((path, text));
        }
    }
    found
}

struct Found(Vec<InSource>);

impl<'a> Visit<'a> for Found {
    fn visit_macro(&mut self, found: &'a syn::Macro) {
        if found.path.is_ident("statements") {
            self.0.extend(table(found.tokens.clone()));
        }
    }

    fn visit_expr_call(&mut self, call: &'a syn::ExprCall) {
        if let syn::Expr::Path(path) = &*call.func
            && path.path.segments.iter().map(|s| s.ident.to_string()).eq(["Statement", "new"])
            && let Some(syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. })) =
                call.args.first()
        {
            let (line, sql) = (text.span().start().line, Sql::Here(text.value()));
            self.0.push(InSource { name: None, line, parameters: None, sql });
        }
        visit::visit_expr_call(self, call);
    }
}

/// `fn name(parameters) -> Answer = text, span;`, again and again.
fn table(tokens: TokenStream) -> Vec<InSource> {
    let mut found = Vec::new();
    let mut tokens = tokens.into_iter();
    while let Some(token) = tokens.next() {
        if token.to_string() != "fn" {
            continue;
        }
        let name = tokens.next().expect("a name");
        let Some(TokenTree::Group(parameters)) = tokens.next() else { panic!("{name}: no (…)") };
        let is_end = |token: &TokenTree| token.to_string() == "=";
        tokens.find(is_end).unwrap_or_else(|| panic!("{name}: no text"));
        let mut text = tokens.next().expect("a text");
        let is_file = text.to_string() == "include_str";
        if is_file {
            let group = tokens.find_map(|token| match token {
                TokenTree::Group(group) => group.stream().into_iter().next(),
                _ => None,
            });
            text = group.expect("a path");
        }
        let text: syn::LitStr = syn::parse2(text.into()).expect("a text in quotes");
        found.push(InSource {
            line: name.span().start().line,
            name: Some(name.to_string()),
            parameters: Some(count(parameters.stream())),
            sql: match is_file {
                true => Sql::In(text.value().into()),
                false => Sql::Here(text.value()),
            },
        });
    }
    found
}

/// How many `name: type` there are: single colons.
fn count(parameters: TokenStream) -> usize {
    let mut after_colon = false;
    let single = |token: TokenTree| {
        let TokenTree::Punct(punct) = token else {
            after_colon = false;
            return false;
        };
        let is_colon = punct.as_char() == ':';
        let is_single = is_colon && !after_colon && punct.spacing() == Spacing::Alone;
        after_colon = is_colon;
        is_single
    };
    parameters.into_iter().map(single).filter(|single| *single).count()
}
