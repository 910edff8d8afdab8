use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use crate::forbid;
use crate::sources;

/// Packages in a build of jobkit, with itself and its macros. Raise it only with a reason in the
/// commit: every user compiles them.
const PACKAGES: usize = 151;

/// What jobkit itself never depends on, not even by a feature; `jobkit-drivers` is for that.
const DRIVERS: [&str; 5] = ["deadpool", "diesel", "jobkit-drivers", "sea-orm", "tokio-postgres"];

/// The source of everything that is not ours, as `Cargo.lock` spells it.
const SOURCE: &str = "registry+https://github.com/rust-lang/crates.io-index";

fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command.current_dir(sources::root());
    command
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What cargo knows of the dependencies on this platform; those of other platforms may not have
/// been downloaded.
fn metadata() -> Value {
    let version = output(cargo().args(["--version", "--verbose"]));
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let mut command = cargo();
    command.args(["metadata", "--format-version", "1", "--locked", "--filter-platform", host]);
    serde_json::from_str(&output(&mut command)).unwrap()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// The licences in the `allow` list of `deny.toml`.
fn allowed() -> Vec<String> {
    let file = std::fs::read_to_string(sources::root().join("deny.toml")).unwrap();
    let (_, rest) = file.split_once("\nallow = [").unwrap();
    let (list, _) = rest.split_once(']').unwrap();
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Whether an SPDX expression can be met with these licences. `WITH` makes a licence of its own.
fn satisfied(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let spaced = spaced.replace(" WITH ", "+");
    let mut tokens: Vec<&str> = spaced.split_whitespace().rev().collect();
    either(&mut tokens, allowed) && tokens.is_empty()
}

fn either(tokens: &mut Vec<&str>, allowed: &[String]) -> bool {
    let mut met = both(tokens, allowed);
    while tokens.pop_if(|token| *token == "OR").is_some() {
        met |= both(tokens, allowed);
    }
    met
}

fn both(tokens: &mut Vec<&str>, allowed: &[String]) -> bool {
    let mut met = one(tokens, allowed);
    while tokens.pop_if(|token| *token == "AND").is_some() {
        met &= one(tokens, allowed);
    }
    met
}

fn one(tokens: &mut Vec<&str>, allowed: &[String]) -> bool {
    match tokens.pop() {
        Some("(") => {
            let met = either(tokens, allowed);
            met & tokens.pop_if(|token| *token == ")").is_some()
        }
        Some(licence) => allowed.iter().any(|known| known == licence),
        None => false,
    }
}

#[test]
fn every_licence_is_allowed() {
    let (metadata, allowed) = (metadata(), allowed());
    let breaches = list(&metadata, "packages").iter().filter_map(|package| {
        let licence = text(package, "license");
        let met = satisfied(licence, &allowed);
        (!met).then(|| format!("{} is under \"{licence}\"", text(package, "name")))
    });
    forbid("deny.toml lists the licences we may depend on", breaches);
}

#[test]
fn everything_comes_from_one_place() {
    let lock = std::fs::read_to_string(sources::root().join("Cargo.lock")).unwrap();
    let elsewhere = lock.lines().filter_map(|line| {
        let source = line.strip_prefix("source = \"")?.strip_suffix('"')?;
        (source != SOURCE).then(|| source.to_owned())
    });
    forbid("dependencies are released versions from the public registry", elsewhere);
}

#[test]
fn the_boundaries_are_cargos_too() {
    let metadata = metadata();
    let mut breaches = Vec::new();
    for package in list(&metadata, "packages") {
        for dependency in list(package, "dependencies") {
            let (package, dependency) = (text(package, "name"), text(dependency, "name"));
            let breach = match package {
                "jobkit-admin" => dependency.starts_with("sqlx"),
                "jobkit" => DRIVERS.iter().any(|driver| dependency.starts_with(driver)),
                "jobkit-macros" => dependency.starts_with("jobkit"),
                _ => false,
            };
            if breach {
                breaches.push(format!("{package} depends on {dependency}"));
            }
        }
    }
    forbid(
        "the dashboard has no sqlx, the macros nothing of jobkit, jobkit no other driver",
        breaches,
    );
}

#[test]
fn jobkit_brings_few_packages() {
    let mut command = cargo();
    command.args(["tree", "--locked", "--package", "jobkit", "--edges", "normal,build"]);
    let tree = output(command.args(["--prefix", "none", "--format", "{p}"]));
    // "serde v1.0.228 (*)": the star says that it was met before.
    let name = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let found: BTreeSet<String> = tree.lines().map(name).collect();
    assert!(found.len() > 20, "the dependencies were not read: {found:?}");
    assert!(found.len() <= PACKAGES, "{} packages, {PACKAGES} are agreed", found.len());
}

#[test]
fn licence_expressions_are_understood() {
    let allowed = ["MIT", "Zlib"].map(str::to_owned);
    let met = |expression| satisfied(expression, &allowed);
    assert!(met("MIT") && met("GPL-3.0 OR MIT") && met("MIT/Apache-2.0") && met("MIT AND Zlib"));
    assert!(met("(GPL-3.0 OR Zlib) AND MIT") && !met("(GPL-3.0 AND Zlib) OR Apache-2.0"));
    assert!(!met("") && !met("MIT AND GPL-3.0") && !met("MIT WITH exception") && !met("(MIT"));
}
