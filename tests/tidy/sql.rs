use crate::forbid;
use crate::sources::{self, Source};

const MIGRATIONS: &str = "migrations/";
const FUNCTIONS: &str = "migrations/functions/";

/// Lines of an SQL function.
const LONGEST: usize = 80;

/// The statements: the runtime's in `store/sql/`, each noun's of the operators in its own `sql/`.
fn statements() -> Vec<Source> {
    under("jobkit/src/")
}

fn under(folder: &str) -> Vec<Source> {
    sources::sql().into_iter().filter(|source| source.path.starts_with(folder)).collect()
}

/// How often the library's code contains a text.
fn occurrences(code: &[Source], text: &str) -> usize {
    code.iter().flat_map(Source::code).map(|(_, line)| line.matches(text).count()).sum()
}

fn library() -> Vec<Source> {
    let library = |source: &Source| source.path.starts_with("jobkit/src/");
    sources::rust().into_iter().filter(library).collect()
}

#[test]
fn every_file_opens_with_a_comment() {
    let all = [statements(), under(MIGRATIONS)].concat();
    let bare = all.iter().filter(|source| !source.text.starts_with("-- "));
    forbid("an SQL file opens with a comment", bare.map(|source| source.at(1)));
}

#[test]
fn every_statement_is_included_once() {
    let code = library();
    let breaches = statements().into_iter().filter_map(|source| {
        // The slash keeps `claim.sql` from being found in `jobs_claim.sql`.
        let times = occurrences(&code, &format!("/{}.sql\")", source.stem()));
        (times != 1).then(|| format!("{} is included {times} times", source.at(1)))
    });
    forbid("a statement is included exactly once", breaches);
}

#[test]
fn statements_lie_where_they_are_looked_for() {
    let folder = |path: &str| Some(path.rsplit_once('/')?.0.to_owned());
    let breaches = statements().into_iter().filter(|source| {
        let folder = folder(&source.path).unwrap_or_default();
        let noun =
            folder.strip_prefix("jobkit/src/admin/").and_then(|noun| noun.strip_suffix("/sql"));
        folder != "jobkit/src/store/sql" && noun.is_none_or(|noun| noun.contains('/'))
    });
    forbid("a statement lies in store/sql/ or in admin/<noun>/sql/", breaches.map(|s| s.at(1)));
}

/// How often a list of functions, `folder { name name … }`, has this one.
fn listed(code: &[Source], folder: &str, name: &str) -> usize {
    let lists = code.iter().filter(|source| source.text.contains("functions! {"));
    let folder = format!("    {folder} {{");
    let names = lists.flat_map(|source| source.text.split(&folder).skip(1).collect::<Vec<_>>());
    let names = names.filter_map(|rest| rest.split('}').next());
    names.flat_map(str::split_whitespace).filter(|listed| *listed == name).count()
}

#[test]
fn every_migration_is_listed_once() {
    let code = library();
    let breaches = under(MIGRATIONS).into_iter().filter_map(|source| {
        let path = source.path.strip_prefix(MIGRATIONS)?.strip_suffix(".sql")?;
        let times = match path.split('/').collect::<Vec<_>>()[..] {
            ["tables", name] => occurrences(&code, &format!("\"{name}\"")),
            ["functions", folder, name] => listed(&code, folder, name),
            _ => occurrences(&code, &format!("/{path}.sql\"")),
        };
        (times != 1).then(|| format!("{} is listed {times} times", source.at(1)))
    });
    forbid("a migration is listed exactly once in the library", breaches);
}

/// The functions and views that a file makes: name, first line and lines, from its signature to the
/// semicolon behind its body.
fn made(source: &Source) -> Vec<(String, usize, usize)> {
    let mut found: Vec<(String, usize, usize)> = Vec::new();
    let mut open = false;
    for (number, line) in source.lines() {
        let name = ["create or replace function ", "create or replace view "]
            .iter()
            .find_map(|start| line.strip_prefix(start));
        if let Some(rest) = name {
            let name = rest.split(['(', ' ']).next().unwrap_or_default();
            found.push((name.to_owned(), number, 0));
            open = true;
        }
        if let Some((_, first, lines)) = found.last_mut().filter(|_| open) {
            *lines = number + 1 - *first;
            open = line != "$$;";
        }
    }
    found
}

#[test]
fn a_file_of_the_set_has_the_one_function_it_is_named_after() {
    let breaches = under(FUNCTIONS).into_iter().filter_map(|source| {
        let expected = format!("jobkit.{}", source.stem());
        let made: Vec<String> = made(&source).into_iter().map(|(name, ..)| name).collect();
        (made != [expected]).then(|| format!("{} makes {}", source.at(1), made.join(", ")))
    });
    forbid("a file under migrations/functions makes one function or view, of its name", breaches);
}

#[test]
fn tables_make_no_functions() {
    let tables = under("migrations/tables/").into_iter();
    let breaches = tables.flat_map(|source| {
        let lines: Vec<_> = source.lines().collect();
        let makes = |line: &str| line.contains(" function ") && line.starts_with("create");
        let found = lines.into_iter().filter(|(_, line)| makes(line));
        found.map(|(number, _)| source.at(number)).collect::<Vec<_>>()
    });
    forbid("functions are in the set, not in the steps of the tables", breaches);
}

/// Longer functions there are for now. Only ever remove from this list.
const LONG_FUNCTIONS: &[&str] = &[];

#[test]
fn sql_functions_are_short() {
    let all: Vec<(String, String, usize)> = under(FUNCTIONS)
        .iter()
        .filter(|source| source.text.contains("create or replace function "))
        .flat_map(|source| {
            let place = |(name, first, lines)| (name, source.at(first), lines);
            made(source).into_iter().map(place).collect::<Vec<_>>()
        })
        .collect();
    let long = || all.iter().filter(|(_, _, lines)| *lines > LONGEST);
    let listed = |name: &str| LONG_FUNCTIONS.contains(&name);
    let new = long().filter(|(name, ..)| !listed(name));
    forbid(
        "an SQL function has at most 80 lines",
        new.map(|(name, place, lines)| format!("{place}: {name} has {lines}")),
    );
    let outgrown = |name: &&&str| long().all(|(found, ..)| found != **name);
    let outgrown = LONG_FUNCTIONS.iter().filter(outgrown).map(|name| (*name).to_owned());
    forbid("remove from LONG_FUNCTIONS what is short now", outgrown);
}

#[test]
fn a_long_sql_function_is_found() {
    let body = "    perform 1;\n".repeat(78);
    let text = format!("create or replace function jobkit.f()\nas $$\n{body}$$;\n");
    let source = Source { path: "f.sql".to_owned(), text };
    assert_eq!(made(&source), [("jobkit.f".to_owned(), 1, 81)]);
}
