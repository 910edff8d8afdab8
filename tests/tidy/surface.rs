use crate::forbid;
use crate::sources::{self, Source};

/// How many names the root of the library may have: those that somebody needs who writes, enqueues
/// and runs jobs. What operators need is in `jobkit::admin`.
const NAMES: usize = 33;

fn leaves(tree: &syn::UseTree, found: &mut Vec<String>) {
    match tree {
        syn::UseTree::Path(path) => leaves(&path.tree, found),
        syn::UseTree::Group(group) => group.items.iter().for_each(|item| leaves(item, found)),
        syn::UseTree::Name(name) => found.push(name.ident.to_string()),
        syn::UseTree::Rename(rename) => found.push(rename.rename.to_string()),
        syn::UseTree::Glob(_) => found.push("*".to_owned()),
    }
}

/// Whether rustdoc does not show it.
fn is_hidden(attributes: &[syn::Attribute]) -> bool {
    let hidden = |list: &syn::MetaList| list.tokens.to_string() == "hidden";
    let doc = |attribute: &&syn::Attribute| attribute.path().is_ident("doc");
    attributes.iter().filter(doc).any(|doc| doc.meta.require_list().is_ok_and(hidden))
}

/// The public names at the root of a crate, read from its `lib.rs`.
fn public_names(source: &Source) -> Vec<String> {
    let file = syn::parse_file(&source.text).unwrap();
    let mut found = Vec::new();
    for item in &file.items {
        let (attributes, visibility, name) = match item {
            syn::Item::Use(item) => (&item.attrs, &item.vis, None),
            syn::Item::Mod(item) => (&item.attrs, &item.vis, Some(&item.ident)),
            syn::Item::Struct(item) => (&item.attrs, &item.vis, Some(&item.ident)),
            syn::Item::Enum(item) => (&item.attrs, &item.vis, Some(&item.ident)),
            syn::Item::Trait(item) => (&item.attrs, &item.vis, Some(&item.ident)),
            syn::Item::Type(item) => (&item.attrs, &item.vis, Some(&item.ident)),
            syn::Item::Const(item) => (&item.attrs, &item.vis, Some(&item.ident)),
            syn::Item::Fn(item) => (&item.attrs, &item.vis, Some(&item.sig.ident)),
            _ => continue,
        };
        if !matches!(visibility, syn::Visibility::Public(_)) || is_hidden(attributes) {
            continue;
        }
        match (item, name) {
            (syn::Item::Use(item), _) => leaves(&item.tree, &mut found),
            (_, name) => found.extend(name.map(ToString::to_string)),
        }
    }
    found
}

#[test]
fn the_root_has_few_names() {
    let root = sources::rust().into_iter().find(|source| source.path == "jobkit/src/lib.rs");
    let names = public_names(&root.unwrap());
    let rule = format!("the root of jobkit has at most {NAMES} names, none of them by a glob");
    let breaks = names.len() > NAMES || names.iter().any(|name| name == "*");
    forbid(&rule, breaks.then(|| format!("{}: {}", names.len(), names.join(", "))));
}

#[test]
fn names_are_found() {
    let text = "mod a; pub mod b; #[doc(hidden)] pub mod c; pub use a::{D, e::F as G}; use a::H;\n\
                pub fn i() {} struct J; #[doc = \"K\"] pub use k::k; pub use l::*;";
    let source = Source { path: "lib.rs".to_owned(), text: text.to_owned() };
    assert_eq!(public_names(&source), ["b", "D", "G", "i", "k", "*"]);
}
