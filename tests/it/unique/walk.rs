//! A walk at random over everything that can become of jobs with unique keys, beside the table of
//! the decision page.

use fastrand::Rng;
use jobkit::admin::dead_letters::{DeadLetterId, ReplayError};
use jobkit::unique::{Enqueued, OnDuplicate, While};
use jobkit::{Admin, Enqueue, JobId};
use jobkit_tests::Lab;
use sqlx::FromRow;

use super::stage::{Touch, claim, prepare, start_worker};
use crate::races::calls::{orphaned_claims, reap_claim, settle, sweep};

/// Acts of each seed.
const ACTS: usize = 400;

/// Seeds tried every time; one more is new each time.
const SEEDS: [u64; 3] = [1, 2, 2_026];

/// Each for one duration, with a permit to be had or without.
const KEYS: [(While, Option<i64>); 6] = [
    (While::Queued, None),
    (While::Running, None),
    (While::Unfinished, None),
    (While::Queued, Some(1)),
    (While::Running, Some(1)),
    (While::Unfinished, Some(1)),
];

/// Those by which a job waits again, where a key is most easily forgotten, are there twice.
const OUTCOMES: [&str; 8] =
    ["retry", "snooze", "retry", "snooze", "finish", "bury", "discard", "release"];

/// A live job, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
struct Live {
    id: i64,
    unique_key: String,
    by: String,
    place: String,
    permitted: bool,
    tried: bool,
    cancelled: bool,
    replays: bool,
    parked: bool,
}

impl Live {
    fn key(&self) -> usize {
        self.unique_key.parse().unwrap()
    }

    fn during(&self) -> While {
        KEYS[self.key()].0
    }

    /// Whether it has its key, as the decision page's table says.
    fn holds(&self) -> bool {
        self.is_in_the_way() && !self.yields()
    }

    /// Whether it has its key, or gives it up only to a new job.
    fn is_in_the_way(&self) -> bool {
        let runs_without = self.place == "claimed" && self.during() == While::Queued;
        !self.parked && !runs_without
    }

    fn yields(&self) -> bool {
        self.waits() && self.tried && !self.replays && self.during() == While::Running
    }

    /// Whether a duplicate that comes now is before it.
    fn waits(&self) -> bool {
        matches!(&*self.place, "ready" | "scheduled") && !self.permitted
    }
}

struct Walk {
    lab: Lab,
    rng: Rng,
    enqueued: usize,
}

impl Walk {
    async fn live(&self) -> Vec<Live> {
        let sql = "select j.id, j.unique_key, j.args ->> 'by' as by, p.place,
                coalesce(not r.without_permit, false) as permitted,
                j.attempt + j.snoozes > 0 as tried, j.cancel_requested_at is not null as cancelled,
                j.dead_letter_id is not null as replays, j.run_at = jobkit.parked() as parked
            from jobkit.jobs j
            join jobkit.places p on p.job_id = j.id
            left join jobkit.ready r on r.job_id = j.id
            order by j.id";
        sqlx::query_as(sql).fetch_all(self.lab.pool()).await.unwrap()
    }

    /// One that is there, of those that are like this.
    async fn any(&mut self, like: impl Fn(&Live) -> bool) -> Option<Live> {
        let found: Vec<_> = self.live().await.into_iter().filter(like).collect();
        (!found.is_empty()).then(|| found[self.rng.usize(..found.len())].clone())
    }

    async fn act(&mut self) {
        match self.rng.u8(..20) {
            ..=7 => self.enqueue().await,
            8 | 9 => drop(claim(&self.lab).await),
            10..=14 => self.settle().await,
            15 => self.end().await,
            16 | 17 => self.reschedule().await,
            18 => self.replay().await,
            _ if self.rng.bool() => self.crash().await,
            _ => self.age().await,
        }
    }

    async fn enqueue(&mut self) {
        let key = self.rng.usize(..KEYS.len());
        let (during, slot) = KEYS[key];
        let mut ways = vec![OnDuplicate::Skip, OnDuplicate::Replace, OnDuplicate::Debounce];
        ways.extend((during == While::Unfinished).then_some(OnDuplicate::RunAgain));
        let way = ways[self.rng.usize(..ways.len())];
        self.enqueued += 1;
        let by = self.enqueued.to_string();
        let before = self.live().await;
        let job = Touch { by: by.clone(), slot }.options().unique_key(key.to_string());
        let mut tx = self.lab.pool().begin().await.unwrap();
        let job = job.unique_while(during).on_duplicate(way);
        let answer = job.enqueue_unique(&mut *tx).await.unwrap();
        if self.rng.u8(..4) == 0 {
            tx.rollback().await.unwrap();
            assert_eq!(self.live().await, before);
            return;
        }
        tx.commit().await.unwrap();
        let of_key = |job: &&Live| job.key() == key;
        let holder = before.iter().filter(of_key).find(|job| job.holds());
        let follower = before.iter().filter(of_key).find(|job| job.parked);
        self.check(&by, way, answer, holder, follower).await;
    }

    /// The answer is what the table says, and the payload is where the answer says.
    async fn check(
        &self,
        by: &str,
        way: OnDuplicate,
        answer: Enqueued,
        holder: Option<&Live>,
        follower: Option<&Live>,
    ) {
        let again = way == OnDuplicate::RunAgain;
        let expected = match (holder, follower) {
            (None, _) => None,
            // One that is cancelled does nothing any more: what comes is behind it.
            (Some(job), None) if job.cancelled => None,
            (Some(job), Some(follower)) if job.cancelled => Some(match way {
                OnDuplicate::Replace | OnDuplicate::RunAgain => {
                    Enqueued::Replaced(JobId(follower.id))
                }
                _ => Enqueued::Existing(JobId(follower.id)),
            }),
            (Some(job), Some(follower))
                if job.waits() && (again || way == OnDuplicate::Replace && !job.replays) =>
            {
                Some(Enqueued::Replaced(JobId(follower.id)))
            }
            (Some(job), _) if job.waits() && !job.replays && way != OnDuplicate::Skip => {
                Some(Enqueued::Replaced(JobId(job.id)))
            }
            (Some(job), Some(follower)) if again && !job.waits() => {
                Some(Enqueued::Replaced(JobId(follower.id)))
            }
            (Some(job), None) if again && !job.waits() => None,
            (Some(job), _) => Some(Enqueued::Existing(JobId(job.id))),
        };
        match expected {
            None => assert!(matches!(answer, Enqueued::New(_)), "{answer:?} {holder:?}"),
            Some(expected) => assert_eq!(answer, expected, "{way:?} {holder:?} {follower:?}"),
        }
        let live = self.live().await;
        let job = live.iter().find(|job| job.id == answer.id().0).unwrap();
        let kept = matches!(answer, Enqueued::Existing(_)) || way == OnDuplicate::Debounce;
        assert_eq!(job.by == by, !kept || expected.is_none(), "{way:?} {answer:?} {job:?}");
        assert_eq!(job.parked, holder.is_some_and(|holder| holder.id != job.id));
    }

    async fn settle(&mut self) {
        let Some(job) = self.any(|job| job.place == "claimed").await else { return };
        let claim = format!("select n from jobkit.claims where {} = any (job_ids)", job.id);
        let n = self.lab.value(&claim).await;
        let outcome = OUTCOMES[self.rng.usize(..OUTCOMES.len())];
        self.lab.run(&settle(1, n, job.id, outcome)).await;
    }

    async fn end(&mut self) {
        let Some(job) = self.any(|_| true).await else { return };
        Admin::new(self.lab.pool()).job(JobId(job.id)).cancel().await.unwrap();
    }

    /// Makes it ready now, or much later.
    async fn reschedule(&mut self) {
        let Some(job) = self.any(|job| job.place == "scheduled").await else { return };
        let hours = if self.rng.bool() { 0 } else { 2 };
        let at = format!("now() + {hours} * interval '1 h'");
        self.lab.run(&format!("select jobkit.reschedule(array[{}], {at})", job.id)).await;
    }

    async fn replay(&mut self) {
        let dead = "select id, unique_key from jobkit.dead_letters where state = 'open'";
        let dead: Vec<(i64, String)> =
            sqlx::query_as(dead).fetch_all(self.lab.pool()).await.unwrap();
        if dead.is_empty() {
            return;
        }
        let (id, key) = dead[self.rng.usize(..dead.len())].clone();
        let live = self.live().await;
        let of_key = || live.iter().filter(|job| job.unique_key == key);
        let holder = of_key().find(|job| job.is_in_the_way());
        let next = || of_key().find(|job| job.parked);
        let holder = holder.map(|job| next().filter(|_| job.cancelled).unwrap_or(job));
        let replayed = Admin::new(self.lab.pool()).dead_letter(DeadLetterId(id)).replay().await;
        match (holder, replayed) {
            (None, replayed) => drop(replayed.unwrap()),
            (Some(holder), Err(ReplayError::KeyTaken(JobId(job)))) => assert_eq!(job, holder.id),
            (holder, replayed) => panic!("{replayed:?} beside {holder:?}"),
        }
    }

    /// The worker dies, and another takes its place, and sweeps as each does at its start.
    async fn crash(&mut self) {
        self.lab.run("delete from jobkit.workers").await;
        let orphaned: Option<String> = self.lab.value(&orphaned_claims()).await;
        for claim in orphaned.iter().flat_map(|all| all.split(' ')) {
            let (worker, n) = claim.split_once('/').unwrap();
            self.lab.run(&reap_claim(worker.parse().unwrap(), n.parse().unwrap())).await;
        }
        start_worker(&self.lab).await;
        self.lab.run(&sweep()).await;
    }

    /// Whatever is done from time to time is done, more than a year later: nothing goes by age.
    async fn age(&mut self) {
        let before = self.live().await;
        self.lab
            .run(
                "update jobkit.jobs set created_at = created_at - interval '400 days';
                update jobkit.claims set claimed_at = claimed_at - interval '400 days';
                select jobkit.follow_left(1000);
                select jobkit.prune_keys(1000);
                select jobkit.reap_workers()",
            )
            .await;
        assert_eq!(self.live().await, before);
    }
}

/// At most one job has a key, and whoever follows follows somebody, with a newer payload.
fn check_keys(live: &[Live]) {
    for key in 0..KEYS.len() {
        let of_key = || live.iter().filter(|job| job.key() == key);
        let holders: Vec<_> = of_key().filter(|job| job.holds()).collect();
        let followers: Vec<_> = of_key().filter(|job| job.parked).collect();
        assert!(
            holders.len() <= 1 && followers.len() <= holders.len(),
            "{holders:?} {followers:?}"
        );
        let by = |job: &Live| job.by.parse::<usize>().unwrap();
        for (holder, follower) in holders.iter().zip(&followers) {
            assert!(by(holder) < by(follower), "{holder:?} {follower:?}");
        }
    }
}

/// Oban's and River's lists of states in which a job is unique each lacked one.
#[tokio::test]
async fn whatever_becomes_of_jobs_a_key_has_one_and_each_answer_is_true() {
    for seed in SEEDS.into_iter().chain([fastrand::u64(..)]) {
        println!("seed {seed}");
        let lab = Lab::guarded().await;
        prepare(&lab).await;
        let mut walk = Walk { lab, rng: Rng::with_seed(seed), enqueued: 0 };
        for _ in 0..ACTS {
            walk.act().await;
            check_keys(&walk.live().await);
        }
        walk.lab.check_invariants().await;
    }
}
