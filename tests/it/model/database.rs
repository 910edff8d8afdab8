//! The installed functions take the steps of the model: whatever happens to the jobs of a key, the
//! tables say afterwards what the model says, or one of the things that it allows.

mod play;
mod stage;

use std::collections::BTreeMap;
use std::fmt::Write;

use fastrand::Rng;
use jobkit_tests::Lab;
use jobkit_tests::model::{Outcome, Place, Scope, State, Step};

use play::Play;
use stage::Stage;

in_a_lab![the_tables_say_what_the_model_says];

/// Seeds tried every time; one more is new each time.
const SEEDS: std::ops::Range<u64> = 0..20;

/// Steps of each seed, unless all jobs end before.
const STEPS: usize = 60;

/// How often each kind of step was taken.
type Counts = BTreeMap<&'static str, usize>;

/// The kind of a step, and how often it is taken compared with the others.
fn share(state: &State, step: &Step) -> (&'static str, u32) {
    let busy = |id| state.claims().iter().any(|claim| claim.worker == id);
    let gone = |id| state.worker(id).is_none_or(|worker| worker.crashed);
    match step {
        Step::Enqueue { .. } => ("enqueue", 10),
        Step::Promote { .. } => ("promote", 20),
        Step::Wait { park: true, .. } => ("claim that parks", 30),
        Step::Wait { park: false, .. } => ("claim", 30),
        Step::Settle { claim, job, .. } if state.job(*job).place != Place::Running(*claim) => {
            ("late outcome", 4)
        }
        Step::Settle { claim, .. } if gone(claim.worker) => ("outcome of a zombie", 3),
        Step::Settle { outcome: Outcome::Finish, .. } => ("finish", 4),
        Step::Settle { .. } => ("other outcome", 24),
        Step::Cancel { .. } => ("cancel", 1),
        Step::SetLimit { .. } => ("limit", 3),
        Step::Pause { scope: Scope::Queue(_) } => ("pause of a queue", 1),
        Step::Pause { scope: Scope::Kind(_) } => ("pause of a kind", 1),
        Step::Pause { scope: Scope::All } => ("pause of everything", 1),
        Step::Resume { .. } => ("resume", 8),
        Step::Start { .. } => ("start", 16),
        Step::Stop { .. } => ("stop", 1),
        Step::Leave { .. } => ("leave", 8),
        Step::Crash { worker } if busy(*worker) => ("crash", 8),
        Step::Crash { .. } => ("crash of the idle", 1),
        Step::ReapWorker { .. } => ("reap of a worker", 20),
        Step::ReapClaim { .. } => ("reap of a claim", 30),
        Step::Sweep => ("sweep", if state.due { 6 } else { 1 }),
        Step::Tick => ("tick", 20),
        Step::GrantDue => ("look at a key that is due", 20),
        // A semaphore is forgotten by the step that empties it; the rest are mistakes.
        Step::Forget | Step::Look(_) | Step::Act => ("", 0),
    }
}

/// A step, of any kind there is, by their shares.
fn choose(rng: &mut Rng, state: &State, steps: Vec<Step>) -> (&'static str, Step) {
    let mut kinds: BTreeMap<_, Vec<Step>> = BTreeMap::new();
    for step in steps {
        kinds.entry(share(state, &step)).or_default().push(step);
    }
    let all: u32 = kinds.keys().map(|(_, share)| share).sum();
    let mut left = rng.u32(..all);
    for ((kind, share), mut steps) in kinds {
        if left < share {
            return (kind, steps.swap_remove(rng.usize(..steps.len())));
        }
        left -= share;
    }
    unreachable!("the shares add up")
}

/// Takes the steps of a seed. Fails with the story when the tables say what the model does not, or
/// when a function complains.
async fn walk(stage: &mut Stage, seed: u64, counts: &mut Counts) -> Result<(), String> {
    let mut rng = Rng::with_seed(seed);
    let (play, mut state) = Play::random(&mut rng);
    stage.begin(&play, &state).await;
    let mut story = format!("seed {seed}: {play:#?}\n{state}\n");
    for _ in 0..STEPS {
        if state.jobs().all(|(_, job)| job.place == Place::Finished) {
            break;
        }
        let (kind, step) = choose(&mut rng, &state, play.model.steps(&state));
        *counts.entry(kind).or_default() += 1;
        writeln!(story, "{step:?}").unwrap();
        let crashed = stage.crashed().await;
        if matches!(&step, Step::ReapClaim { claim }
            if state.listed(*claim).iter().any(|job| crashed.contains(job)))
        {
            *counts.entry("second crash in a row").or_default() += 1;
        }
        let allowed = play.successors(&state, &step, &crashed);
        let taken = stage.take(&play, &state, &step).await;
        taken.map_err(|error| format!("{story}  fails: {error}"))?;
        let seen = stage.look().await;
        match allowed.iter().find(|after| play.tell(after) == seen) {
            Some(after) => state = after.clone(),
            None => {
                let allowed: Vec<_> = allowed.iter().map(|after| play.tell(after)).collect();
                return Err(format!("{story}  gives {seen:#?}\n  and not one of {allowed:#?}"));
            }
        }
        writeln!(story, "  {state}").unwrap();
    }
    Ok(())
}

async fn the_tables_say_what_the_model_says(lab: Lab) {
    let mut stage = Stage::new(&lab).await;
    let mut counts = Counts::new();
    for seed in SEEDS.chain([fastrand::u64(..)]) {
        println!("seed {seed}");
        let walked = walk(&mut stage, seed, &mut counts).await;
        walked.unwrap_or_else(|story| panic!("{story}"));
    }
    println!("{counts:?}");
    assert_eq!(counts.len(), 23, "some kind of step was never taken: {counts:?}");
}

const GRANT: &str = "select jobkit.grant_permits(p_groups, p_keys, p_freed)";

/// A function, a passage of it and what replaces that: mistakes that few seeds are enough to find.
const WRONG: [(&str, &str, &str); 8] = [
    ("grant_permits", "limit least(f.free, f.freed + 1000)", "limit least(f.free, 1)"),
    ("grant_permits", "order by b.priority, b.job_id limit", "order by b.job_id limit"),
    ("settle_grant", GRANT, "select 0::bigint where false"),
    ("give_back", "jobkit.signal(p_jobs)", "jobkit.signal('{}')"),
    ("signal", "where p.job_id = any (p_jobs)", "where p.job_id > 0"),
    ("cancel_take", "perform jobkit.grant_and_wake(", "perform concat("),
    ("sweep_unserved", "return jobkit.take_back(v_jobs);", "return 0;"),
    ("block_backlog", "and q.without_permit and", "and"),
];

#[tokio::test]
async fn a_function_that_is_wrong_leaves_the_model() {
    for (function, find, replace) in WRONG {
        let lab = Lab::new().await;
        lab.mutate(function, find, replace).await;
        let mut stage = Stage::new(&lab).await;
        let mut found = None;
        for seed in 0..100 {
            if let Err(story) = walk(&mut stage, seed, &mut Counts::new()).await {
                found = Some((seed, story));
                break;
            }
        }
        let Some((seed, story)) = found else { panic!("{function}: {replace:?} is not noticed") };
        println!("{function}: {replace:?} is noticed with seed {seed}");
        // It must be a function that works and does the wrong thing.
        assert!(!story.contains("SQLSTATE 42"), "{story}");
    }
}
