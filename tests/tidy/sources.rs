use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::Span;
use syn::visit::Visit;

/// A text file of the repository.
#[derive(Clone)]
pub(crate) struct Source {
    /// From the repository's root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Source {
    /// "file:line", for a message.
    pub(crate) fn at(&self, line: usize) -> String {
        format!("{}:{line}", self.path)
    }

    /// The last part of the path, without its extension.
    pub(crate) fn stem(&self) -> &str {
        Path::new(&self.path).file_stem().unwrap().to_str().unwrap()
    }

    /// Test code need not be as strict as what users run.
    pub(crate) fn is_test(&self) -> bool {
        self.path.starts_with("tests/") && !self.path.starts_with("tests/private-postgres/src/")
    }

    /// The lines, counted from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// The lines with a Rust comment cut off.
    pub(crate) fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines().map(|(number, line)| (number, line.split("//").next().unwrap_or(line)))
    }

    /// Walks the syntax tree, without the parts that are compiled for tests only.
    pub(crate) fn visit<V: for<'a> Visit<'a>>(&self, visitor: &mut V) {
        let mut file = syn::parse_file(&self.text)
            .unwrap_or_else(|error| panic!("{}: {error}", self.at(line(error.span()))));
        file.items.retain(|item| match item {
            syn::Item::Mod(module) => !module.attrs.iter().any(is_cfg_test),
            _ => true,
        });
        visitor.visit_file(&file);
    }
}

pub(crate) fn line(span: Span) -> usize {
    span.start().line
}

fn is_cfg_test(attribute: &syn::Attribute) -> bool {
    let test = |list: &syn::MetaList| list.tokens.to_string() == "test";
    attribute.path().is_ident("cfg") && attribute.meta.require_list().is_ok_and(test)
}

/// All text files that belong to the repository.
pub(crate) fn all() -> Vec<Source> {
    let mut found = Vec::new();
    walk(&root(), &mut found);
    assert!(found.iter().any(|source| source.path == "Cargo.toml"), "the root was not found");
    found
}

/// Rust files, except the programs that are meant not to compile, and the one whose figures are the
/// ceiling of the benchmarks: it stays as it was.
pub(crate) fn rust() -> Vec<Source> {
    let kept = |path: &str| path.contains("/ui/") || path.starts_with("bench/peers/limit/");
    let ours = |source: &Source| source.path.ends_with(".rs") && !kept(&source.path);
    all().into_iter().filter(ours).collect()
}

pub(crate) fn sql() -> Vec<Source> {
    all().into_iter().filter(|source| source.path.ends_with(".sql")).collect()
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

fn walk(folder: &Path, found: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let name = entry.file_name().into_string().unwrap();
        let kind = entry.file_type().unwrap();
        let hidden = name.starts_with('.') && !name.starts_with(".ci") && !name.starts_with(".git");
        let skipped = [".git", "target", "node_modules"].contains(&name.as_str());
        // Links lead to files that are met elsewhere.
        if hidden || skipped || kind.is_symlink() {
            continue;
        }
        if kind.is_dir() {
            walk(&path, found);
        } else if let Ok(text) = fs::read_to_string(&path) {
            let path = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            found.push(Source { path, text });
        }
    }
}
