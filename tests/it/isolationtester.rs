//! The specs of `tests/isolation`, run by PostgreSQL's own isolationtester: two or three sessions
//! that hold their transactions open after each call, in every order that can happen.
//!
//! Of all orderings only those are missing in which a session would have to act while it waits (a
//! spec that lists none has them all tried, and such a one ends by a time-out). Each ordering ends
//! with a verdict, `scene.verdict`, and every commit is checked by the guard. No more than two
//! sessions of a spec may wait without limit: which of two waiters is next, nobody says.

mod mutants;
mod refusals;
mod report;
mod tester;

use jobkit_tests::Lab;

use self::report::Spec;
use self::tester::Tester;

macro_rules! specs {
    ($($name:ident),+ $(,)?) => {
        const SPECS: &[&str] = &[$(stringify!($name)),+];

        mod spec {
            $(#[tokio::test]
            async fn $name() {
                super::passes(stringify!($name)).await;
            })+
        }
    };
}

specs![
    bury_bury,
    cancel_claim,
    cancel_fresh,
    cancel_unblock,
    discard_replay,
    finish_finish,
    forget,
    forget_later,
    fresh_key,
    fresh_key_of_two,
    group_claim,
    group_finish,
    lower_finish,
    park_finish,
    pause_claim,
    pause_finish,
    purge_replay,
    raise_finish,
    reap_finish,
    replay_replay,
    resolve_bury,
    resume_finish,
    start_finish,
    wait_finish,
];

/// A guarded database with what the specs share.
async fn stage() -> Lab {
    let lab = Lab::guarded().await;
    lab.run(include_str!("../isolation/scene.sql")).await;
    // As long as it takes to see it wait.
    for function in ["settle", "replay", "discard_dead_letter"] {
        lab.run(&format!("alter function jobkit.{function} set lock_timeout = '1min'")).await;
    }
    lab
}

/// Workers have room from here on: a settle claims what it unblocks.
async fn make_room(lab: &Lab) {
    lab.run(
        "create or replace function scene.next() returns bigint
        language sql as $$ select nextval('scene.claims') $$",
    )
    .await;
}

/// Once with workers that leave to others what they unblock, and once with some that take it.
async fn passes(name: &str) {
    let Some(tester) = Tester::find() else { return };
    let spec = Spec::read(name);
    for room in [false, true] {
        let lab = stage().await;
        if room {
            make_room(&lab).await;
        }
        let report = tester.run(&lab, &spec).await;
        let complaints = report.complaints(&spec);
        assert!(complaints.is_empty(), "room: {room}, {}", complaints.join("\n"));
        let unwaited = report.unwaited(&spec);
        assert!(unwaited.is_empty(), "{name}, room: {room}, never had to wait: {unwaited:?}");
    }
}

#[test]
fn every_spec_is_run() {
    let mut found: Vec<String> = std::fs::read_dir(Spec::folder())
        .unwrap()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "spec"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    found.sort();
    assert_eq!(found, SPECS);
}
