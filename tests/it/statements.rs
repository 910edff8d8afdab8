//! The engine's statements are prepared against the migrated schema: a misspelt column, or a
//! parameter that nothing explains, shows here and not at three in the morning.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jobkit_tests::Lab;
use jobkit_tests::tables::{self, Sql};
use sqlx::{AssertSqlSafe, Either, Executor, SqlSafeStr, Statement};

fn paths(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn library() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../jobkit/src")
}

/// The files of the runtime's statements, and of those of the operators' nouns.
fn files() -> Vec<PathBuf> {
    let nouns = paths(&library().join("admin")).into_iter().map(|noun| noun.join("sql"));
    let folders = std::iter::once(library().join("store/sql")).chain(nouns);
    let files = folders.filter(|folder| folder.is_dir()).flat_map(|folder| paths(&folder));
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|e| e == "sql")).collect();
    files.sort();
    files
}

/// The numbers of the parameters that a text names: `$1`, `$2`, …
fn parameters<'a>(lines: impl Iterator<Item = &'a str>) -> BTreeSet<usize> {
    let number = |text: &str| {
        let digits = text.chars().take_while(char::is_ascii_digit).count();
        text[..digits].parse().ok()
    };
    lines.flat_map(|line| line.split('$').skip(1).filter_map(number).collect::<Vec<_>>()).collect()
}

/// The parameters that a statement takes, which are those that its text names.
async fn taken(lab: &Lab, name: &str, sql: &str) -> BTreeSet<usize> {
    let prepared = lab.pool().prepare(AssertSqlSafe(sql.to_owned()).into_sql_str()).await;
    let statement = prepared.unwrap_or_else(|error| panic!("{name}: {error}"));
    let count = match statement.parameters() {
        Some(Either::Left(types)) => types.len(),
        Some(Either::Right(count)) => count,
        None => 0,
    };
    let taken: BTreeSet<usize> = (1..=count).collect();
    let body = sql.lines().skip_while(|line| line.starts_with("--"));
    assert_eq!(parameters(body), taken, "{name}: parameters in its text, and taken");
    taken
}

#[tokio::test]
async fn every_file_fits_the_schema_and_explains_its_parameters() {
    let lab = Lab::new().await;
    let files = files();
    assert!(files.len() > 40, "only {} statements found", files.len());
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let sql = std::fs::read_to_string(&path).unwrap();
        assert!(sql.starts_with("-- "), "{name} does not begin by saying what it does");
        let taken = taken(&lab, &name, &sql).await;
        let header = sql.lines().take_while(|line| line.starts_with("--"));
        assert_eq!(parameters(header), taken, "{name}: parameters in its header, and taken");
    }
}

#[tokio::test]
async fn every_statement_of_a_table_fits_the_schema_and_its_parameters() {
    let lab = Lab::new().await;
    let mut count = 0;
    for (path, text) in tables::sources(&library()) {
        for statement in tables::statements(&text) {
            let name = format!("{}:{}", path.display(), statement.line);
            let sql = match &statement.sql {
                Sql::Here(sql) => sql.clone(),
                Sql::In(file) => {
                    std::fs::read_to_string(path.parent().unwrap().join(file)).unwrap()
                }
            };
            let taken = taken(&lab, &name, &sql).await;
            let named = statement.parameters.unwrap_or(taken.len());
            assert_eq!(named, taken.len(), "{name}: parameters of the function, and taken");
            count += 1;
        }
    }
    assert!(count > 80, "only {count} statements found");
}

#[test]
fn a_table_is_read() {
    let source = r#"
        statements! {
            /// A worker ends.
            fn end(worker: i64, why: &str, id: a::Id) -> () = "select $1", debug_span!("a", x = 1);
            fn all() -> Vec<(i64, b::B)> = include_str!("sql/all.sql");
        }
        fn f() -> Statement<()> { Statement::new("select 2").bind(1) }
    "#;
    let found = tables::statements(source);
    let read = |i: usize| (found[i].name.as_deref(), found[i].line, found[i].parameters);
    assert_eq!([read(0), read(1)], [(Some("end"), 4, Some(3)), (Some("all"), 5, Some(0))]);
    assert_eq!((read(2), found.len()), ((None, 7, None), 3));
    assert_eq!(found[1].sql, Sql::In("sql/all.sql".into()));
    assert_eq!(found[2].sql, Sql::Here("select 2".to_owned()));
}
