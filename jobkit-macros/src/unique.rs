//! `unique_key` and `coalesce_key`, and their options.

use std::time::Duration;

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::Expr;

use crate::duration;
use crate::key;
use crate::kind;
use crate::literal::word;
use crate::mistakes::Mistakes;
use crate::parse::{Args, Given};
use crate::redact::Fields;

/// The words for how long a job holds its key, and for what a duplicate does: each is a variant in
/// the library.
const WHILE: [(&str, &str); 3] =
    [("queued", "Queued"), ("running", "Running"), ("unfinished", "Unfinished")];
const ON_DUPLICATE: [(&str, &str); 4] =
    [("skip", "Skip"), ("replace", "Replace"), ("debounce", "Debounce"), ("run_again", "RunAgain")];

/// A key that one job has at a time.
pub(crate) struct Unique {
    pub(crate) key: Expr,
    group: String,
    holds: &'static str,
    at_least: Option<Duration>,
    on_duplicate: &'static str,
}

/// Both keys; a job has at most one of them.
pub(crate) fn read(
    args: &mut Args,
    fields: &Fields,
    kind: &str,
    mistakes: &mut Mistakes,
) -> (Option<Unique>, Option<Coalesce>) {
    let unique = Unique::read(args, fields, kind, mistakes);
    (unique, Coalesce::read(args, fields, kind, mistakes))
}

impl Unique {
    fn read(args: &mut Args, fields: &Fields, kind: &str, mistakes: &mut Mistakes) -> Option<Self> {
        let key = args.unique_key.take().map(|given| key::unquoted(given, fields, mistakes));
        let group = args.unique_group.as_ref();
        let group = group.map(|group| kind::stored(&group.value, "the group name", mistakes));
        let at_least = args.unique_for.as_ref();
        let at_least = at_least
            .and_then(|given| mistakes.sift(duration::read(&given.value, &duration::UNIQUE)));
        let holds = variant(args.unique_while.as_ref(), &WHILE, mistakes);
        let on_duplicate = variant(args.on_duplicate.as_ref(), &ON_DUPLICATE, mistakes);
        if on_duplicate == Some("RunAgain") {
            refuse_beside_run_again(args, holds, mistakes);
        }
        Some(Self {
            key: key?,
            group: group.unwrap_or_else(|| kind.to_owned()),
            holds: holds.unwrap_or("Unfinished"),
            at_least,
            on_duplicate: on_duplicate.unwrap_or("Skip"),
        })
    }

    /// The value for the policy.
    pub(crate) fn code(&self) -> TokenStream {
        let Self { group, holds, at_least, on_duplicate, .. } = self;
        let [holds, on_duplicate] =
            [holds, on_duplicate].map(|variant| Ident::new(variant, Span::call_site()));
        let at_least = match at_least.map(duration::code) {
            Some(duration) => quote!(::core::option::Option::Some(#duration)),
            None => quote!(::core::option::Option::None),
        };
        quote!(::jobkit::private::Unique {
            group: #group,
            holds: ::jobkit::private::While::#holds,
            at_least: #at_least,
            on_duplicate: ::jobkit::private::OnDuplicate::#on_duplicate,
        })
    }
}

/// A key whose newest waiting job runs in place of the others.
pub(crate) struct Coalesce {
    pub(crate) key: Expr,
    pub(crate) group: String,
}

impl Coalesce {
    fn read(args: &mut Args, fields: &Fields, kind: &str, mistakes: &mut Mistakes) -> Option<Self> {
        let group = args.coalesce_group.as_ref();
        if let (Some(group), false) = (group, args.mentions("coalesce_key")) {
            let message = "`coalesce_group` needs a key: add `coalesce_key = self.account_id`";
            mistakes.add(&group.name, message);
        }
        let group = group.map(|group| kind::stored(&group.value, "the group name", mistakes));
        let given = args.coalesce_key.take()?;
        if args.mentions("unique_key") {
            let message = "a job has a `unique_key` or a `coalesce_key`, not both: `unique_key` \
                           allows one job of a key at a time, `coalesce_key` runs one waiting job \
                           of a key for all of them";
            mistakes.add(&given.name, message);
        }
        let key = key::unquoted(given, fields, mistakes);
        Some(Self { key, group: group.unwrap_or_else(|| kind.to_owned()) })
    }
}

/// `run_again` starts after the other job has ended.
fn refuse_beside_run_again(args: &Args, holds: Option<&str>, mistakes: &mut Mistakes) {
    let unfinished = holds.is_none_or(|holds| holds == "Unfinished");
    let names = [
        args.unique_while.as_ref().map(|given| &given.name).filter(|_| !unfinished),
        args.unique_for.as_ref().map(|given| &given.name),
    ];
    for name in names.into_iter().flatten() {
        let message = format_args!(
            "`on_duplicate = run_again` needs a key that is held exactly while its job is \
             unfinished: leave `{name}` out"
        );
        mistakes.add(name, message);
    }
}

/// Options of a key need a key.
pub(crate) fn refuse_keyless(args: &Args, mistakes: &mut Mistakes) {
    if args.mentions("unique_key") {
        return;
    }
    let names = [
        args.unique_group.as_ref().map(|given| &given.name),
        args.unique_while.as_ref().map(|given| &given.name),
        args.unique_for.as_ref().map(|given| &given.name),
        args.on_duplicate.as_ref().map(|given| &given.name),
    ];
    for name in names.into_iter().flatten() {
        mistakes.add(
            name,
            format_args!(
                "`{name}` needs a key: add `unique_key = self.account_id`, or `unique_key = \
                 \"all\"` for one key shared by every job"
            ),
        );
    }
}

/// The variant that a word names.
fn variant(
    given: Option<&Given<Expr>>,
    words: &[(&'static str, &'static str)],
    mistakes: &mut Mistakes,
) -> Option<&'static str> {
    let Given { name, value } = given?;
    let written = word(value).map(ToString::to_string);
    let known = words.iter().find(|(word, _)| written.as_deref() == Some(word));
    if known.is_none() {
        let listed: Vec<_> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
        let (last, others) = listed.split_last()?;
        let others = others.join(", ");
        mistakes.add(value, format_args!("`{name}` is {others} or {last}"));
    }
    known.map(|(_, variant)| *variant)
}
