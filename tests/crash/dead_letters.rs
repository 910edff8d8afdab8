//! A worker is killed at every step of a job's way into the dead letters, back and out again.

use std::time::{Duration, Instant};

use jobkit_tests::{Lab, Proxy, wait};

use crate::jobs::Act;
use crate::process::Process;
use crate::program::Program;
use crate::stage::{PATIENCE, lab, light_turn};

/// The connections of a worker that has nothing to do.
const AT_REST: &str = "array_agg(a.application_name order by a.application_name)
    = '{jobkit claim,jobkit heartbeat,jobkit listen,jobkit promote,jobkit replay,jobkit sweep}'
    from pg_stat_activity a
    where a.datname = current_database() and a.application_name like 'jobkit %'";

/// When a worker is killed.
#[derive(Debug, Clone, Copy)]
enum Death {
    /// While it runs this attempt: of the job, of the replay that fails, of the one that succeeds.
    Running(usize),
    /// When so many packets have passed between its settler and the database.
    Passed(usize),
}

/// A dead-letter key, its job at present, and what the job and its replays do.
struct Way<'a> {
    lab: &'a Lab,
    key: String,
    job: i64,
    acts: [Act; 3],
}

impl<'a> Way<'a> {
    /// Enqueues a job that has one attempt.
    async fn begin(lab: &'a Lab, key: String, acts: [Act; 3]) -> Self {
        let args = payload(acts[0]);
        let enqueue = format!(
            "select jobkit.enqueue('deed', '{args}', p_max_attempts => 1,
                p_dead_letter_key => '{key}')"
        );
        let job = lab.value(&enqueue).await;
        Self { lab, key, job, acts }
    }

    /// Replays what fails, until the second replay has succeeded or the worker is to die.
    async fn follow<F: Future<Output = bool>>(&mut self, dies: impl Fn() -> F) {
        loop {
            let next = || async { dies().await || self.stage().await.is_some() };
            wait(PATIENCE, "the job ends", next).await;
            if dies().await {
                return;
            }
            let replay = match self.stage().await.as_deref() {
                Some("open 1") => format!("'{}'", payload(self.acts[1])),
                // A death costs this one an attempt, and not its success.
                Some("open 2") => format!("'{}', 2", payload(self.acts[2])),
                Some("resolved 2") => return,
                other => panic!("{} is {other:?}", self.key),
            };
            let replay = format!(
                "select r.job_id from jobkit.dead_letters d,
                    lateral jobkit.replay(d.id, 'me', null, null, {replay}) r
                where d.key = '{}'",
                self.key
            );
            self.job = self.lab.value(&replay).await;
        }
    }

    /// State and cycles of the dead letter, unless its job is on its way.
    async fn stage(&self) -> Option<String> {
        let key = &self.key;
        let sql = format!(
            "select (select state || ' ' || cycles from jobkit.dead_letters
                where key = '{key}' and state <> 'replaying')"
        );
        self.lab.value(&sql).await
    }

    /// Where the job is: in one place, or the answer names several.
    async fn place(&self) -> String {
        let job = self.job;
        let sql = format!(
            "select coalesce(string_agg(p.place, ' and ' order by p.place), 'nowhere') from (
                select p.place from jobkit.places p where p.job_id = {job}
                union all select 'buried' from jobkit.dead_letters d where d.job_id = {job}
                union all select 'finished' from jobkit.finished f where f.job_id = {job}
            ) p"
        );
        self.lab.value(&sql).await
    }

    /// Checks that nothing is wrong, and that the job is in one place; says in which.
    async fn check(&self) -> String {
        self.lab.check_invariants().await;
        let place = self.place().await;
        let places = ["claimed", "buried", "finished", "ready"];
        assert!(places.contains(&&*place), "job {} of {} is {place}", self.job, self.key);
        place
    }
}

fn payload(act: Act) -> String {
    serde_json::json!({ "act": act }).to_string()
}

/// Waits until nothing that a killed process asked for is under way any more.
async fn silence(lab: &Lab) {
    let sessions = "not exists (select from pg_stat_activity
        where datname = current_database() and application_name like 'jobkit %')";
    lab.until(sessions).await;
}

/// Moves time to the end of the leases, and takes back what the dead held.
async fn reap(lab: &Lab) -> i64 {
    lab.run("update jobkit.workers set lease = '1 ms', lease_until = now() - interval '1 s'").await;
    lab.run("select jobkit.reap_workers()").await;
    let reaped = "select coalesce(sum(jobkit.reap_claim(o.worker_id, o.n)), 0)
        from jobkit.orphaned_claims() o";
    lab.value(reaped).await
}

/// One life of one key, whose worker dies. Returns where the job was, and how many deaths were
/// charged; `None` when the worker lived through it.
async fn live(lab: &Lab, death: Death) -> Option<(String, i64)> {
    let proxy = Proxy::new(lab.url()).await.unwrap();
    let few_connections = Some(false);
    let program = Program { concurrency: 1, few_connections, ..Program::with_defaults(lab.url()) };
    let doomed = Program { url: proxy.url().to_owned(), ..program.clone() };
    let mut doomed = Process::start(&doomed).await;
    lab.until(AT_REST).await;
    let (pid, mut acts) = (doomed.pid(), [Act::Fail, Act::Fail, Act::Sleep(Duration::ZERO)]);
    match death {
        Death::Running(attempt) => acts[attempt] = Act::HangIn(pid),
        Death::Passed(packets) => proxy.light_fuse(packets),
    }
    let hangs = format!(
        "jobkit.jobs j join effects e on e.job_id = j.id
        where e.pid = {pid} and e.what = 'begin' and (j.args->'act')::jsonb ? 'HangIn'"
    );
    let dies = || async { !proxy.is_open() || lab.count(&hangs).await > 0 };
    let mut way = Way::begin(lab, format!("{death:?}"), acts).await;
    way.follow(dies).await;
    // Or else the answer to the last outcome is on its way.
    while !dies().await && doomed.counts().await.finished == 0 {}
    let harmed = dies().await;
    if !proxy.is_open() {
        proxy.blown().await;
    }
    doomed.kill();
    way.check().await;
    drop(proxy);
    silence(lab).await;
    let place = way.check().await;
    let reaped = reap(lab).await;
    assert_eq!(reaped, i64::from(place == "claimed"));
    way.check().await;
    if !harmed {
        return None;
    }
    let healthy = Process::start(&program).await;
    way.follow(|| async { false }).await;
    healthy.stop().await;
    Some((place, reaped))
}

#[tokio::test]
async fn a_worker_killed_at_any_step_of_a_failure_leaves_the_job_in_one_place() {
    let _turn = light_turn().await;
    let lab = lab().await;
    lab.guard().await;
    Process::start(&Program::with_defaults(lab.url())).await.stop().await;
    let began = Instant::now();
    let (mut points, mut deaths, mut places) = (0_i64, 0, Vec::new());
    let attempts = (0..3).map(Death::Running);
    for death in attempts.chain((1..).map(Death::Passed)) {
        let Some((place, reaped)) = live(&lab, death).await else { break };
        points += 1;
        deaths += reaped;
        places.push(place);
    }
    let seconds = began.elapsed().as_secs_f64();
    println!("killed at {points} points in {seconds:.1} s; the job was {}", places.join(", "));
    // Some meet a job that is replayed already: how many is a matter of timing.
    for (place, least) in [("claimed", 3 + 3), ("buried", 2), ("finished", 1)] {
        let here = places.iter().filter(|p| *p == place).count();
        assert!(here >= least, "too few kills met the job {place}: {here}");
    }
    let lives = points + 1;
    let letters = "jobkit.dead_letters where (state, cycles, generation, attempts, attempt)
        = ('resolved', 2, 2, 2, 1) and jsonb_array_length(errors) = 2";
    assert_eq!(lab.count(letters).await, lives);
    assert_eq!(lab.count("jobkit.dead_letters").await, lives, "one for each key");
    let finished = "jobkit.finished f join jobkit.dead_letters d on d.id = f.dead_letter_id
        and d.replay_id = f.job_id";
    assert_eq!(lab.count(finished).await, lives);
    let crashes: i64 = lab
        .value(
            "select count(*) from (
                select errors from jobkit.dead_letters union all select errors from jobkit.finished
            ) e, jsonb_array_elements(e.errors) a where a->>'outcome' = 'crash'",
        )
        .await;
    assert_eq!(crashes, deaths, "every death is charged once");
    for table in ["jobs", "claims", "attempts", "ready", "scheduled", "workers"] {
        assert_eq!(lab.count(&format!("jobkit.{table}")).await, 0, "{table}");
    }
    lab.check_invariants().await;
}

#[tokio::test]
async fn a_burial_that_leaves_something_behind_is_noticed() {
    let _turn = light_turn().await;
    for (left, place, what) in [
        ("delete from jobkit.jobs j where j.id = p_job.id;", "buried", "ended and live"),
        ("delete from jobkit.attempts a where a.job_id = p_job.id;", "buried", "attempts of an"),
    ] {
        let lab = lab().await;
        lab.mutate("bury", left, "").await;
        let mut process = Process::start(&Program::with_defaults(lab.url())).await;
        let way = Way::begin(&lab, "k".to_owned(), [Act::Fail; 3]).await;
        lab.until("count(*) = 1 from jobkit.dead_letters").await;
        process.kill();
        silence(&lab).await;
        assert_eq!(way.place().await, place);
        let noticed = format!("jobkit.violations where what like '{what}%'");
        assert_eq!(lab.count(&noticed).await, 1, "{what}");
    }
}
