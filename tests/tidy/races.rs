use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use syn::visit::{self, Visit};

use crate::forbid;
use crate::sources::{self, Source};

const TABLE: &str = "tests/RACES.md";

/// The rows there are.
const ROWS: [RangeInclusive<u32>; 20] = [
    1..=38,
    40..=61,
    70..=105,
    110..=132,
    140..=145,
    160..=166,
    170..=174,
    180..=181,
    190..=195,
    200..=202,
    210..=218,
    220..=224,
    230..=235,
    240..=243,
    250..=258,
    260..=267,
    270..=272,
    290..=292,
    295..=298,
    300..=309,
];

/// The rows of the table: id, and the column with the tests or the reason.
fn rows(text: &str) -> Vec<(&str, &str)> {
    let rows = text.lines().filter(|line| line.starts_with("| T"));
    let columns = |line| {
        let mut columns = str::split(line, '|').map(str::trim).skip(1);
        (columns.next().unwrap_or_default(), columns.nth(1).unwrap_or_default())
    };
    rows.map(columns).collect()
}

/// The tests a text names: file under `tests/`, function.
fn named(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split('`').skip(1).step_by(2).filter_map(|name| name.split_once("::"))
}

/// The functions of a file.
#[derive(Default)]
struct Functions(BTreeSet<String>);

impl<'a> Visit<'a> for Functions {
    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.0.insert(item.sig.ident.to_string());
        visit::visit_item_fn(self, item);
    }
}

fn table() -> Source {
    sources::all().into_iter().find(|source| source.path == TABLE).unwrap()
}

#[test]
fn every_race_has_one_row() {
    let table = table();
    let found: Vec<_> = rows(&table.text).into_iter().map(|(id, _)| id.to_owned()).collect();
    let expected = ROWS.into_iter().flatten().map(|row| format!("T{row:02}"));
    assert_eq!(found, expected.collect::<Vec<_>>(), "{TABLE} lists each race once, in order");
}

#[test]
fn every_row_names_a_test_or_a_reason() {
    let table = table();
    let reasons = ["later", "cannot arise"];
    let silent = rows(&table.text).into_iter().filter(|(_, covered)| {
        named(covered).next().is_none() && !reasons.iter().any(|why| covered.starts_with(why))
    });
    forbid("a row names its test or says why there is none", silent.map(|(id, _)| id.to_owned()));
}

#[test]
fn every_test_that_a_row_names_exists() {
    let (table, sources) = (table(), sources::rust());
    let missing = named(&table.text).filter(|(file, test)| {
        let path = format!("tests/{file}");
        let Some(source) = sources.iter().find(|source| source.path == path) else { return true };
        let mut functions = Functions::default();
        source.visit(&mut functions);
        !functions.0.contains(*test)
    });
    forbid(
        "the table names tests that exist",
        missing.map(|(file, test)| format!("{file}::{test}")),
    );
}

/// The ids in the names of tests: `t23_a_raised_limit` is of row T23.
#[test]
fn every_test_named_after_a_row_is_in_it() {
    let (table, mut strays) = (table(), Vec::new());
    for source in sources::rust().iter().filter(|source| source.path.starts_with("tests/it/")) {
        let mut functions = Functions::default();
        source.visit(&mut functions);
        for name in functions.0 {
            let id = name.strip_prefix('t').and_then(|rest| rest.split_once('_')).map(|(id, _)| id);
            let Some(id) = id.filter(|id| id.parse::<u32>().is_ok()) else { continue };
            let id = format!("T{id}");
            let listed = rows(&table.text)
                .into_iter()
                .any(|(row, covered)| row == id && named(covered).any(|(_, test)| test == name));
            if !listed {
                strays.push(format!("{}: {name}", source.path));
            }
        }
    }
    forbid("a test named after a row is listed there", strays);
}

#[test]
fn rows_are_read() {
    let text = "| row | race | test |\n|---|---|---|\n| T01 | a race | `it/a.rs::b`, `c.rs::d` |\n";
    assert_eq!(rows(text), [("T01", "`it/a.rs::b`, `c.rs::d`")]);
    assert_eq!(named(text).collect::<Vec<_>>(), [("it/a.rs", "b"), ("c.rs", "d")]);
}
