//! The engine's statements are prepared against the migrated schema: a misspelt column, or a
//! parameter that its header does not explain, shows here and not at three in the morning.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jobkit_tests::Lab;
use sqlx::{AssertSqlSafe, Either, Executor, SqlSafeStr, Statement};

fn paths(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// The runtime's statements, and those of the operators' nouns.
fn files() -> Vec<PathBuf> {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../jobkit/src");
    let nouns = paths(&library.join("admin")).into_iter().map(|noun| noun.join("sql"));
    let folders = std::iter::once(library.join("store/sql")).chain(nouns);
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

#[tokio::test]
async fn every_statement_fits_the_schema_and_explains_its_parameters() {
    let lab = Lab::new().await;
    let files = files();
    assert!(files.len() > 90, "only {} statements found", files.len());
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let sql = std::fs::read_to_string(&path).unwrap();
        assert!(sql.starts_with("-- "), "{name} does not begin by saying what it does");
        let prepared = lab.pool().prepare(AssertSqlSafe(sql.clone()).into_sql_str()).await;
        let statement = prepared.unwrap_or_else(|error| panic!("{name}: {error}"));
        let count = match statement.parameters() {
            Some(Either::Left(types)) => types.len(),
            Some(Either::Right(count)) => count,
            None => 0,
        };
        let taken: BTreeSet<usize> = (1..=count).collect();
        let header = sql.lines().take_while(|line| line.starts_with("--"));
        assert_eq!(parameters(header), taken, "{name}: parameters in its header, and taken");
        let body = sql.lines().skip_while(|line| line.starts_with("--"));
        assert_eq!(parameters(body), taken, "{name}: parameters in its text, and taken");
    }
}
