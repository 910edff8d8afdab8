use super::*;

#[test]
fn a_newer_schema_is_refused_only_when_it_says_so() {
    assert!(judge(VERSION, VERSION, 1).is_ok());
    assert!(judge(VERSION, VERSION + 5, 1).is_ok());
    assert!(matches!(judge(VERSION, VERSION + 5, VERSION + 1), Err(SchemaError::Newer { .. })));
    assert!(matches!(judge(VERSION, VERSION - 1, 1), Err(SchemaError::Older { .. })));
    assert!(matches!(judge(VERSION, 0, 0), Err(SchemaError::Missing)));
}

#[test]
fn a_server_before_14_is_refused_by_its_major_version() {
    let judge_server = |number| judge_server(number, "UTF8".to_owned());
    assert!(judge_server(140_000).is_ok());
    assert!(judge_server(180_001).is_ok());
    let error = judge_server(130_014).expect_err("13 is too old");
    assert_eq!(error.to_string(), "this server is PostgreSQL 13; jobkit needs 14 or newer");
    assert!(matches!(judge_server(90_624), Err(SchemaError::ServerTooOld { version: 9 })));
}

#[test]
fn versions_count_up_and_the_functions_are_last() {
    let Schema(steps) = Schema::ours();
    for (before, after) in steps.iter().zip(&steps[1..]) {
        assert!(before.version < after.version);
    }
    for step in &steps {
        let Step { version, name, readable_by, .. } = step;
        assert!(step.is_set() || name.starts_with(&format!("{version:04}_")), "{name}");
        assert_eq!(step.is_set(), *version == VERSION);
        assert!(readable_by <= version);
        assert!(!step.sql.contains("$patiently$"), "the block around it would end there");
    }
}

/// Whoever edits a function finds this, gives the set the next number in `SET`, and
/// notes both here: a database that has the old number would not get the new functions. A
/// number that is not released yet may stay.
#[test]
fn the_set_of_functions_has_the_number_of_what_is_in_it() {
    let noted = (20, "c2a6942ca4e67610");
    assert_eq!((VERSION, &*checksum(&functions::script())), noted, "the functions were edited");
}

fn applied(steps: &[(i32, &str, &str)]) -> Vec<Applied> {
    let step = |(version, name, checksum): &(i32, &str, &str)| Applied {
        version: *version,
        name: (*name).to_owned(),
        checksum: (*checksum).to_owned(),
    };
    steps.iter().map(step).collect()
}

#[test]
fn an_older_set_of_functions_never_replaces_a_newer_one() {
    let Schema(steps) = Schema::ours();
    let set = steps.last().expect("it is the last step");
    let newer = applied(&[(set.version + 2, FUNCTIONS, "another")]);
    assert!(set.is_in(&newer).expect("it is newer"));
    let older = applied(&[(set.version - 1, FUNCTIONS, "another")]);
    assert!(!set.is_in(&older).expect("it is older"));
    let edited = applied(&[(set.version, FUNCTIONS, "another")]);
    assert!(matches!(set.is_in(&edited), Err(MigrateError::Edited { .. })));
}
