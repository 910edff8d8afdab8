//! One list of cases for the kit's drain and for a worker: both leave the same behind.

use std::path::Path;
use std::time::Duration;

use jobkit::enqueue::Topic;
use jobkit::testing::{Drain, advance};
use jobkit::{Enqueue, Registration};
use jobkit_tests::Lab;
use sqlx::PgConnection;

use crate::jobs::{self, *};

/// How far ahead both look: what is due within that runs.
const SOON: Duration = Duration::from_secs(5);

/// What is left behind: of ended jobs, dead letters and live jobs, without what is different each
/// time.
const LEFT: &str = "
    select concat_ws(' ', kind, outcome, 'attempt ' || attempt, 'errors '
        || coalesce(jsonb_array_length(errors), 0), regexp_replace(reason, '[0-9]+', '#', 'g'),
        'result ' || result)
    from jobkit.finished
    union all
    select concat_ws(' ', kind, 'dead:', reason, 'attempts ' || attempts, 'cycles ' || cycles,
        key, nullif(regexp_replace(error, ' (at line|in a call of) .*', ''), ''))
    from jobkit.dead_letters
    union all
    select concat_ws(' ', j.kind, case when r.job_id is not null then 'ready'
            when s.job_id is not null then 'scheduled' else 'elsewhere' end,
        'attempt ' || j.attempt, 'snoozes ' || j.snoozes, 'failed ' || (
            select count(*) from jobkit.attempts a where a.job_id = j.id),
        'in ' || round(extract(epoch from j.run_at - clock_timestamp()) / 1200) * 20 || ' min')
    from jobkit.jobs j left join jobkit.ready r on r.job_id = j.id
    left join jobkit.scheduled s on s.job_id = j.id
    union all
    select 'permit of ' || concurrency_key from jobkit.permits
    union all
    select concat_ws(' ', 'violation', what, who) from jobkit.violations
    order by 1";

/// Nothing is left to do. (A schedule has no job before it is fired.)
const QUIET: &str = "
    not exists (select from jobkit.claims)
    and not exists (select from jobkit.blocked_executions)
    and not exists (select from jobkit.schedules where next_at <= now())
    and not exists (select from jobkit.ready where kind <> 'stranger')
    and not exists (select from jobkit.scheduled where run_at <= now() + interval '5 s')";

/// What jobs may come to; what each leaves behind is in `conformance.txt`.
#[derive(Debug, Clone, Copy)]
enum Case {
    Finishes,
    KeepsNothing,
    FailsTwice,
    RetriesLater,
    RetriesIn,
    Snoozes,
    SnoozesLong,
    Discards,
    Dies,
    Releases,
    Panics,
    HangsTillTimeout,
    DoesNotDecode,
    ComesTooLate,
    ComesInTime,
    WasCancelled,
    UsedItsAttemptsUp,
    SharesAKey,
    FailsWithAKey,
    IsUnique,
    Coalesces,
    SharesADeadLetter,
    IsDelayed,
    ComesOfASchedule,
    RunsInABatch,
    GoesOnFromACheckpoint,
    IsEncrypted,
    ComesOfATopic,
    IsOfAnotherBinary,
}

impl Case {
    const ALL: [Self; 29] = [
        Self::Finishes,
        Self::KeepsNothing,
        Self::FailsTwice,
        Self::RetriesLater,
        Self::RetriesIn,
        Self::Snoozes,
        Self::SnoozesLong,
        Self::Discards,
        Self::Dies,
        Self::Releases,
        Self::Panics,
        Self::HangsTillTimeout,
        Self::DoesNotDecode,
        Self::ComesTooLate,
        Self::ComesInTime,
        Self::WasCancelled,
        Self::UsedItsAttemptsUp,
        Self::SharesAKey,
        Self::FailsWithAKey,
        Self::IsUnique,
        Self::Coalesces,
        Self::SharesADeadLetter,
        Self::IsDelayed,
        Self::ComesOfASchedule,
        Self::RunsInABatch,
        Self::GoesOnFromACheckpoint,
        Self::IsEncrypted,
        Self::ComesOfATopic,
        Self::IsOfAnotherBinary,
    ];

    /// Which jobs run.
    fn jobs(self) -> Vec<Registration> {
        match self {
            Self::ComesOfASchedule => jobs::nightly().to_vec(),
            Self::IsEncrypted => jobs::sealed().to_vec(),
            _ => jobs::all().to_vec(),
        }
    }

    /// What a job does, where that is all.
    fn then(self) -> Option<Then> {
        Some(match self {
            Self::Finishes => Then::Finish,
            Self::FailsTwice => Then::Fail,
            Self::RetriesIn => Then::RetryIn,
            Self::Snoozes => Then::Snooze,
            Self::SnoozesLong => Then::SnoozeLong,
            Self::Discards => Then::Discard,
            Self::Dies => Then::Dead,
            Self::Releases => Then::ReleaseOnce,
            Self::Panics => Then::Panic,
            Self::HangsTillTimeout => Then::Hang,
            _ => return None,
        })
    }

    /// Enqueues the jobs.
    async fn begin(self, at: &mut PgConnection) -> anyhow::Result<()> {
        if let Some(then) = self.then() {
            Act { then }.enqueue(&mut *at).await?;
        }
        self.begin_keyed(&mut *at).await?;
        self.begin_featured(&mut *at).await?;
        let act = |then| Act { then };
        let run = async |at: &mut PgConnection, sql| sqlx::query(sql).execute(at).await.map(drop);
        match self {
            Self::KeepsNothing => Fleeting { then: Then::Finish }.enqueue(at).await.map(drop)?,
            Self::RetriesLater => Patient { then: Then::Fail }.enqueue(at).await.map(drop)?,
            Self::DoesNotDecode => {
                act(Then::Finish).enqueue(&mut *at).await?;
                run(at, "update jobkit.jobs set args = '{}'").await?;
            }
            Self::ComesTooLate => {
                Brief { then: Then::Finish }.enqueue(&mut *at).await?;
                advance(at, Duration::from_secs(2)).await?;
            }
            Self::ComesInTime => {
                let brief = Brief { then: Then::Finish };
                brief.options().expires(Duration::from_secs(600)).enqueue(at).await?;
            }
            Self::WasCancelled => {
                act(Then::Finish).enqueue(&mut *at).await?;
                run(at, "update jobkit.jobs set cancel_requested_at = now()").await?;
            }
            Self::UsedItsAttemptsUp => {
                act(Then::Finish).enqueue(&mut *at).await?;
                run(at, "update jobkit.jobs set attempt = max_attempts").await?;
            }
            Self::IsDelayed => {
                let delay = Duration::from_secs(3600);
                act(Then::Finish).options().after(delay).enqueue(at).await?;
            }
            Self::ComesOfASchedule => {
                let declared = Drain::new().jobs(jobs::nightly()).schedules().run(&mut *at).await?;
                assert!(declared.runs.is_empty(), "its time has not come");
                advance(at, Duration::from_secs(24 * 3600)).await?;
            }
            Self::IsOfAnotherBinary => {
                act(Then::Finish).enqueue(&mut *at).await?;
                let rename = "with ready as (update jobkit.ready set kind = 'stranger')
                    update jobkit.jobs set kind = 'stranger'";
                run(at, rename).await?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Enqueues jobs of kinds that have a feature of their own.
    async fn begin_featured(self, at: &mut PgConnection) -> anyhow::Result<()> {
        match self {
            Self::RunsInABatch => {
                let mates = [false, true].map(|second| Mate { second });
                jobkit::enqueue_all(mates, at).await.map(drop)?;
            }
            Self::GoesOnFromACheckpoint => Resume {}.enqueue(at).await.map(drop)?,
            Self::IsEncrypted => {
                jobs::sealed();
                Seal { token: "secret".to_owned() }.enqueue(at).await.map(drop)?;
            }
            Self::ComesOfATopic => {
                // Whoever drains announces who subscribes.
                Drain::new().jobs(self.jobs()).run(&mut *at).await?;
                let subscribers = Paid { order: 4711 }.publish(at).await?;
                assert_eq!(subscribers.len(), 2);
            }
            _ => {}
        }
        Ok(())
    }

    /// Enqueues jobs that share a key.
    async fn begin_keyed(self, at: &mut PgConnection) -> anyhow::Result<()> {
        let key = || "a".to_owned();
        match self {
            Self::SharesAKey | Self::FailsWithAKey => {
                let fails = matches!(self, Self::FailsWithAKey);
                let then = if fails { Then::Fail } else { Then::Finish };
                for _ in 0..if fails { 2 } else { 3 } {
                    Keyed { then, key: key() }.enqueue(&mut *at).await?;
                }
            }
            Self::IsUnique => {
                for _ in 0..2 {
                    Unique { then: Then::Finish, key: key() }.enqueue(&mut *at).await?;
                }
            }
            Self::Coalesces => {
                for n in 0..3 {
                    Coalescing { then: Then::Finish, key: key(), n }.enqueue(&mut *at).await?;
                }
            }
            Self::SharesADeadLetter => {
                for _ in 0..2 {
                    Filed { then: Then::Dead, key: key() }.enqueue(&mut *at).await?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

async fn left(at: &mut PgConnection) -> Vec<String> {
    sqlx::query_scalar(LEFT).fetch_all(at).await.unwrap()
}

/// A case and what it left, as `conformance.txt` has it.
fn entry(case: Case, left: &[String]) -> String {
    let lines = left.iter().map(|line| format!("    {line}\n"));
    format!("{case:?}\n{}", lines.collect::<String>())
}

/// Compares with what the cases are to leave behind.
fn check(left: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("testing/conformance.txt");
    assert_eq!(left, std::fs::read_to_string(file).unwrap(), "{left}");
}

/// All cases in one database: each in a transaction that is rolled back.
async fn drained(at_once: usize) -> String {
    let (lab, mut all) = (Lab::new().await, String::new());
    for case in Case::ALL {
        let mut tx = lab.pool().begin().await.unwrap();
        case.begin(&mut tx).await.unwrap();
        let drain = Drain::new().jobs(case.jobs()).at_once(at_once).over(SOON).schedules();
        let report = drain.run(&mut *tx).await.unwrap();
        assert!(report.is_done(), "{case:?}: {report:?}");
        all += &entry(case, &left(&mut tx).await);
        tx.rollback().await.unwrap();
    }
    assert_eq!(lab.count("jobkit.workers").await, 0);
    all
}

#[tokio::test]
async fn a_drain_does_what_a_worker_does() {
    check(&drained(1).await);
}

#[tokio::test]
async fn a_drain_of_several_at_once_does_what_a_worker_does() {
    check(&drained(4).await);
}

/// The same cases, each committed in a database of its own.
#[tokio::test]
async fn a_worker_does_what_a_drain_does() {
    let mut all = String::new();
    for case in Case::ALL {
        let lab = match case {
            // What it begins with no commit of ours leaves.
            Case::UsedItsAttemptsUp => Lab::new().await,
            _ => Lab::guarded().await,
        };
        let mut connection = lab.pool().acquire().await.unwrap();
        case.begin(&mut connection).await.unwrap();
        let worker = lab.worker().jobs(case.jobs()).queue("default", 4).queue("acts", 4);
        let worker = worker.poll(Duration::from_millis(20)).start().await.unwrap();
        lab.until(QUIET).await;
        worker.stop().await;
        all += &entry(case, &left(&mut connection).await);
        lab.check_invariants().await;
    }
    check(&all);
}
