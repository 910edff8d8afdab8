//! The specs find what they are there to find: each mutant has a lock, or an order of looking and
//! locking, taken out of the installed functions, and the spec named beside it fails.

use super::report::Spec;
use super::tester::Tester;
use super::{make_room, stage};

/// Passages of functions, each with what takes its place; and the specs that notice.
struct Mutant {
    what: &'static str,
    passages: &'static [(&'static str, &'static str, &'static str)],
    specs: &'static [&'static str],
}

/// Of `signal` and `lock_semaphores`.
const LOCK: &str = " for update\n    ) locked;";

/// Of `acquire`.
const TAKE: &str = "do update
            set concurrency_key = excluded.concurrency_key, taken = s.taken + excluded.taken
            where not s.crowded and excluded.taken > 0 and s.taken + excluded.taken <= coalesce(
                s.override_limit, (select l.n from lim l where l.name = s.concurrency_group), 1)";

/// Of `create_semaphores`.
const CREATE: &str = "do update set concurrency_key = excluded.concurrency_key where false";

const MUTANTS: &[Mutant] = &[
    Mutant {
        what: "permits are taken back without the lock",
        passages: &[("signal", LOCK, "\n    ) locked;")],
        specs: &["wait_finish", "finish_finish", "forget"],
    },
    Mutant {
        what: "a permit is passed on without the lock",
        passages: &[(
            "pass_permit",
            "= p.concurrency_key\n        for update",
            "= p.concurrency_key",
        )],
        specs: &["finish_finish"],
    },
    Mutant {
        what: "a cancel does not lock",
        passages: &[("lock_semaphores", LOCK, "\n    ) locked;")],
        specs: &["cancel_unblock"],
    },
    Mutant {
        what: "a semaphore that is there already is not locked",
        passages: &[("acquire", TAKE, "do nothing")],
        specs: &["forget_later"],
    },
    Mutant {
        what: "nobody locks a semaphore",
        passages: &[
            ("signal", LOCK, "\n    ) locked;"),
            ("lock_semaphores", LOCK, "\n    ) locked;"),
            ("create_semaphores", CREATE, "do nothing"),
            ("acquire", TAKE, "do nothing"),
        ],
        specs: &["fresh_key", "fresh_key_of_two", "raise_finish", "lower_finish", "park_finish"],
    },
    Mutant {
        what: "the statement that locks is the one that looks",
        passages: &[
            ("signal", LOCK, "\n    ) locked;"),
            ("acquire", TAKE, "do nothing"),
            (
                "grant_permits",
                "select * from jobkit.key_limits l",
                "select l.* from jobkit.key_limits l cross join lateral (
                    select from jobkit.semaphores s where s.concurrency_group = k.grp
                        and s.concurrency_key = k.key for update
                ) locked",
            ),
        ],
        specs: &["wait_finish", "forget"],
    },
    Mutant {
        what: "a pause waits for nobody",
        passages: &[("decide_lock", "lock table jobkit.limits in row share mode;", "")],
        specs: &["pause_finish", "pause_claim", "group_claim"],
    },
    Mutant {
        what: "a change of a group's limit waits for nobody",
        passages: &[("set_limit", "lock table jobkit.limits in exclusive mode;", "")],
        specs: &["group_claim"],
    },
    Mutant {
        what: "a start waits for nobody",
        passages: &[("sweep_start", "lock table jobkit.limits in exclusive mode;", "")],
        specs: &["start_finish"],
    },
    Mutant {
        what: "a cancel looks for a job that is just being unblocked",
        passages: &[(
            "withdraw",
            "from jobkit.lock_semaphores(p_jobs) l",
            "from (select array_agg(j.concurrency_group) as groups,
                array_agg(j.concurrency_key) as keys
            from jobkit.jobs j where j.id = any (p_jobs) and j.concurrency_key is not null) l",
        )],
        specs: &["cancel_unblock"],
    },
    Mutant {
        what: "a replay does not lock",
        passages: &[("replay", "where d.id = p_id for update", "where d.id = p_id")],
        specs: &["replay_replay", "discard_replay", "purge_replay"],
    },
    Mutant {
        what: "a success looks at no generation",
        passages: &[
            ("finish", "and d.generation = p_job.generation", ""),
            ("finish", "and d.state = 'replaying'", ""),
        ],
        specs: &["resolve_bury"],
    },
];

#[tokio::test]
async fn each_mutant_is_found_by_its_specs() {
    let Some(tester) = Tester::find() else { return };
    let mut survivors = Vec::new();
    for Mutant { what, passages, specs } in MUTANTS {
        let lab = stage().await;
        for (function, find, replace) in *passages {
            lab.mutate(function, find, replace).await;
            if *function == "pass_permit" {
                // Which is called only where there is some.
                make_room(&lab).await;
            }
        }
        for name in *specs {
            let spec = Spec::read(name);
            let mut complaints = Vec::new();
            // On a busy machine a claim may give up before it can do any harm.
            for _ in 0..3 {
                complaints = tester.run(&lab, &spec).await.complaints(&spec);
                if !complaints.is_empty() {
                    break;
                }
            }
            match complaints.first() {
                Some(first) => println!("{what}: {} times, {first}", complaints.len()),
                None => survivors.push(format!("{what}: {name} passes")),
            }
        }
    }
    assert!(survivors.is_empty(), "not found:\n{}", survivors.join("\n"));
}
