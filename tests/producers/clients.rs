//! The same small program for one client library after another.

use std::process::Command;

use super::{repository, works};

/// How a program is run; or what is missing.
type Run = Result<Command, &'static str>;

/// The programs beside this file, each with its arguments but the last.
pub(crate) fn clients() -> Vec<(&'static str, Run)> {
    let npm = "npm ci in tests/producers";
    let node = |package: &str, file: &str| {
        let there = repository().join("tests/producers/node_modules").join(package).exists();
        let runs = there && works("node", &["--version"]);
        runs.then(|| of("node", &[file])).ok_or(npm)
    };
    let modules = ["with_postgres_js.mjs", "with_knex.mjs", "with_kysely.mjs"];
    let packages = ["postgres", "knex", "kysely"];
    let mut all: Vec<_> =
        modules.iter().zip(packages).map(|(file, package)| (*file, node(package, file))).collect();
    all.extend([
        ("with_psycopg2.py", with_python("psycopg2", "with_psycopg2.py")),
        ("with_asyncpg.py", with_python("asyncpg", "with_asyncpg.py")),
        ("with_pg8000.py", with_python("pg8000", "with_pg8000.py")),
        ("with_sqlalchemy.py", with_python("sqlalchemy, psycopg", "with_sqlalchemy.py")),
        ("with_django.py", with_python("django, psycopg", "with_django.py")),
        ("WithJdbc.java", java()),
        ("with_ruby_pg.rb", ruby()),
        ("with_pdo.php", php()),
        ("with_dbd_pg.pl", perl()),
    ]);
    all
}

fn of(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(repository().join("tests/producers"));
    command
}

fn with_python(modules: &str, file: &str) -> Run {
    // It leaves nothing beside the programs.
    python(modules).map(|python| of(&python, &["-B", file]))
}

/// A Python that has these modules.
pub(crate) fn python(modules: &str) -> Result<String, &'static str> {
    let own = repository().join("target/producers/bin/python").display().to_string();
    let import = format!("import {modules}");
    let pythons = [own, "python3".to_owned(), "/usr/bin/python3".to_owned()];
    let python = pythons.into_iter().find(|python| works(python, &["-c", &import]));
    python.ok_or("tests/producers/requirements.txt")
}

fn java() -> Run {
    let driver = "/usr/share/java/postgresql.jar";
    let compiles = std::path::Path::new(driver).exists() && works("javac", &["--version"]);
    let java = compiles.then(|| of("java", &["-XX:TieredStopAtLevel=1", "-cp", driver]));
    let java = java.map(|mut java| {
        java.arg("WithJdbc.java");
        java
    });
    java.ok_or("apt-get install default-jdk-headless libpostgresql-jdbc-java")
}

fn ruby() -> Run {
    let runs = works("ruby", &["-e", "require 'pg'"]);
    runs.then(|| of("ruby", &["with_ruby_pg.rb"])).ok_or("apt-get install ruby-pg")
}

fn php() -> Run {
    let look = "exit(in_array('pgsql', PDO::getAvailableDrivers()) ? 0 : 1);";
    let runs = works("php", &["-r", look]);
    runs.then(|| of("php", &["with_pdo.php"])).ok_or("apt-get install php-cli php-pgsql")
}

fn perl() -> Run {
    let runs = works("perl", &["-MDBD::Pg", "-e", "1"]);
    runs.then(|| of("perl", &["with_dbd_pg.pl"])).ok_or("apt-get install libdbd-pg-perl")
}
