//! What a worker's log says of a job, when warnings are all that is logged.

use std::time::Duration;

use jobkit::{Enqueue, Job, JobContext, JobError, Registration, job};
use jobkit_tests::{Lab, Log};
use serde::{Deserialize, Serialize};
use tracing::Level;

use crate::jobs::{self, Act, EFFECTS, Then};

/// Fails with an error whose text panics.
#[derive(Serialize, Deserialize)]
#[job(max_attempts = 2)]
struct Unsayable;

#[derive(Debug)]
struct Panics;

impl std::fmt::Display for Panics {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("no text")
    }
}

impl std::error::Error for Panics {}

impl Job for Unsayable {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Err(Panics.into())
    }
}

/// A line for each of some attempts, and each says which job it is about.
fn all_say(lines: &[String], number: usize, facts: &[&str]) {
    assert_eq!(lines.len(), number, "{lines:#?}");
    for (line, fact) in lines.iter().flat_map(|line| facts.iter().map(move |fact| (line, fact))) {
        assert!(line.contains(fact), "{fact}: {line}");
    }
}

#[tokio::test]
async fn a_warning_says_which_job_failed_and_which_is_dead() {
    let (log, _guard) = Log::listen(Level::WARN);
    let lab = Lab::new().await;
    lab.run(EFFECTS).await;
    let kinds = jobs::all().into_iter().chain([Registration::of::<Unsayable, _>()]);
    let worker = lab.worker().state(lab.pool().clone()).jobs(kinds).queue("default", 10);
    let worker = worker.start().await.unwrap();
    let retried = Act::then(Then::Fail("no luck".to_owned())).enqueue(lab.pool()).await.unwrap();
    let dead = Act::then(Then::Dead).enqueue(lab.pool()).await.unwrap();
    let unread = "select jobkit.enqueue('act', '{\"then\": 7}', p_max_attempts => 1)";
    let unread = lab.value::<i64>(unread).await;
    let unsayable = Unsayable.enqueue(lab.pool()).await.unwrap();
    lab.until("(select count(*) from jobkit.dead_letters) = 3").await;
    lab.until("exists (select from jobkit.attempts)").await;
    worker.stop().await;
    let of = |job: i64, kind| {
        [format!("job.id={job} "), format!("job.kind=\"{kind}\""), "queue=\"default\"".to_owned()]
    };
    let failed = log.lines("attempt failed");
    let of_job = |lines: &[String], job: i64| -> Vec<String> {
        lines.iter().filter(|line| line.contains(&format!("job.id={job} "))).cloned().collect()
    };
    let facts = |job, kind, attempt: &str| -> Vec<String> {
        of(job, kind).into_iter().chain([attempt.to_owned()]).collect()
    };
    let say = |lines: &[String], number, facts: &[String]| {
        all_say(lines, number, &facts.iter().map(|fact| &**fact).collect::<Vec<_>>());
    };
    let retries = of_job(&failed, retried.0);
    say(&retries, 3, &facts(retried.0, "act", "attempt="));
    let delays: Vec<bool> = retries.iter().map(|line| line.contains(" delay=")).collect();
    assert_eq!(delays, [true, true, false], "none comes after the last attempt: {retries:#?}");
    say(&of_job(&failed, unsayable.0), 1, &facts(unsayable.0, "unsayable", "attempt=1"));
    say(&of_job(&failed, unread), 1, &facts(unread, "act", "attempt=1"));
    say(&of_job(&log.lines("undecodable"), unread), 1, &facts(unread, "act", "attempt=1"));
    let buried = log.lines("dead letter");
    // Out of attempts, hopeless, undecodable.
    say(&of_job(&buried, retried.0), 1, &facts(retried.0, "act", "attempt=3"));
    say(&of_job(&buried, dead.0), 1, &facts(dead.0, "act", "attempt=1"));
    say(&of_job(&buried, unread), 1, &facts(unread, "act", "attempt=1"));
    assert_eq!(buried.len(), 3, "{buried:#?}");
}

/// Fails after somebody has cancelled it, of which its worker has not heard.
#[derive(Serialize, Deserialize)]
#[job(max_attempts = 3, backoff = fixed("1h"))]
struct Overtaken;

impl Job<sqlx::PgPool> for Overtaken {
    async fn run(self, cx: JobContext<sqlx::PgPool>) -> jobkit::Result {
        let mark = "select from jobkit.cancel_mark(array[$1])";
        sqlx::query(mark).bind(cx.id().0).execute(cx.state()).await?;
        Err("in vain".into())
    }
}

#[tokio::test]
async fn a_failed_attempt_of_a_job_that_ends_as_cancelled_is_no_warning() {
    let (log, _guard) = Log::listen(Level::INFO);
    let lab = Lab::new().await;
    let worker = lab.worker().state(lab.pool().clone()).queue("default", 1);
    let worker =
        worker.jobs([Registration::of::<Overtaken, _>()]).heartbeat(Duration::from_secs(4));
    let worker = worker.start().await.unwrap();
    let job = Overtaken.enqueue(lab.pool()).await.unwrap();
    let said = || async { !log.lines("settled otherwise").is_empty() };
    jobkit_tests::wait(Duration::from_secs(30), "its end is logged", said).await;
    worker.stop().await;
    assert_eq!(log.lines("attempt failed"), Vec::<String>::new());
    let facts = [&*format!("job.id={job} "), "ending=Cancelled", "error=\"in vain\"", "INFO"];
    all_say(&log.lines("settled otherwise"), 1, &facts);
}

/// A service that says `429` each time.
#[derive(Serialize, Deserialize)]
#[job(max_attempts = 2, retry_for = "1h")]
struct Busy;

impl Job for Busy {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Err(JobError::wait(Duration::from_millis(1), "429: busy"))
    }
}

/// It has failed once its time for waits is over.
#[tokio::test]
async fn a_wait_is_no_warning_before_it_is_charged() {
    let (log, _guard) = Log::listen(Level::DEBUG);
    let lab = Lab::new().await;
    let worker = lab.worker().queue("default", 1).poll(Duration::from_millis(100));
    let worker = worker.jobs([Registration::of::<Busy, _>()]).start().await.unwrap();
    let job = Busy.enqueue(lab.pool()).await.unwrap();
    let said = || async { !log.lines("told to wait").is_empty() };
    jobkit_tests::wait(Duration::from_secs(30), "a wait is logged", said).await;
    assert_eq!(log.lines("attempt failed"), Vec::<String>::new());
    let first = log.lines("told to wait").into_iter().take(1).collect::<Vec<_>>();
    all_say(&first, 1, &[&format!("job.id={job} "), "error=\"429: busy\"", "delay=", "DEBUG"]);
    lab.run("update jobkit.jobs set waits_since = waits_since - interval '2 h'").await;
    lab.until("exists (select from jobkit.dead_letters)").await;
    worker.stop().await;
    all_say(&log.lines("attempt failed"), 1, &[&format!("job.id={job} "), "WARN", "429: busy"]);
}

#[tokio::test]
async fn a_reaper_says_which_crashed_jobs_are_dead() {
    let lab = Lab::new().await;
    let announce = "'{act}', '{default}', '{0}', '{1}', '{1 h}', '{null}', '{null}'";
    lab.run(&format!("select jobkit.announce({announce})")).await;
    let job: i64 = lab.value("select jobkit.enqueue('act', '{}')").await;
    lab.run(
        "select jobkit.register(7, 'w', '{default}', '{act}', '1 day');
        select from jobkit.claim(7, 1, '{act}', '{default}', '{1}');
        delete from jobkit.workers",
    )
    .await;
    let (log, _guard) = Log::listen(Level::WARN);
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all()).queue("slow", 1);
    let worker = worker.lease(Duration::from_secs(2)).start().await.unwrap();
    lab.until("exists (select from jobkit.dead_letters)").await;
    worker.stop().await;
    let facts = [format!("job.id={job} "), "job.kind=\"act\"".to_owned()];
    let facts = [&*facts[0], &*facts[1], "queue=\"default\"", "attempt=1"];
    all_say(&log.lines("dead letter"), 1, &facts);
}

/// An operator is to see which binary changed the times of a schedule, and which would have.
#[tokio::test]
async fn a_declaration_of_other_times_is_logged_with_both() {
    let lab = Lab::new().await;
    let declaring = |times: &'static str| {
        let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all()).queue("slow", 1);
        worker.schedule("tick", times, jobs::Noop)
    };
    let (log, _guard) = Log::listen(Level::INFO);
    declaring("every 1h").start().await.unwrap().stop().await;
    assert_eq!(log.lines("other times"), Vec::<String>::new());
    let newer = declaring("every 2h").start().await.unwrap();
    let changed = log.lines("this binary changed the times of a schedule");
    let old_and_new = ["INFO", "schedule=\"tick\"", "old=\"every 1h\"", "new=\"every 2h\""];
    all_say(&changed, 1, &old_and_new);
    declaring("every 1h").start().await.unwrap().stop().await;
    let stays = log.lines("a newer binary with a live worker declares other times");
    let both = [" WARN ", "schedule=\"tick\"", "declared=\"every 2h\"", "says=\"every 1h\""];
    all_say(&stays, 1, &both);
    assert_eq!(log.lines("this binary changed the times").len(), 1);
    newer.stop().await;
}

#[tokio::test]
async fn an_instant_that_is_brought_forward_is_logged_with_the_one_that_was() {
    let lab = Lab::new().await;
    let worker = || {
        let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all()).queue("slow", 1);
        worker.sweep_every(Duration::from_millis(10))
    };
    let yearly = worker().schedule("yearly", "0 3 1 7 *", jobs::Noop);
    yearly.start().await.unwrap().stop().await;
    let later = "update jobkit.schedules set next_at = next_at + interval '1 year'
        returning to_char(next_at at time zone 'UTC', 'YYYY')";
    let later: i32 = lab.value::<String>(later).await.parse().unwrap();
    let (log, _guard) = Log::listen(Level::WARN);
    let running = worker().start().await.unwrap();
    let said = || async { !log.lines("jobkit.hasten").is_empty() };
    jobkit_tests::wait(Duration::from_secs(30), "it is brought forward", said).await;
    running.stop().await;
    let (old, new) = (format!("old=\"{later}-07-01T03"), format!("new=\"{}-07-01T03", later - 1));
    let facts = ["schedule=\"yearly\"", "times=\"0 3 1 7 *\"", &*old, &*new];
    all_say(&log.lines("jobkit.hasten"), 1, &facts);
}

/// T162: who comes second at an instant enqueues nothing, and says nothing of it: no second job is
/// logged, no id is used up, and it is no error.
#[tokio::test]
async fn t162_an_instant_that_many_workers_see_is_told_once() {
    let (log, _guard) = Log::listen(Level::DEBUG);
    let lab = Lab::new().await;
    let mut workers = Vec::new();
    for _ in 0..4 {
        let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all()).queue("slow", 1);
        let worker = worker.schedule("tick", "every 1s", jobs::Noop);
        workers.push(worker.start().await.unwrap());
    }
    lab.until("(select count(*) from jobkit.schedule_runs where job_id is not null) >= 4").await;
    for worker in workers {
        worker.stop().await;
    }
    let number = |line: &String| {
        let (_, rest) = line.split_once("fired=").expect("it says how many");
        rest.split(' ').next().unwrap().parse::<i64>().unwrap()
    };
    let told: i64 = log.lines(" fired=").iter().map(number).sum();
    assert_eq!(told, lab.count("jobkit.schedule_runs where job_id is not null").await);
    assert_eq!(told, lab.value::<i64>("select last_value from jobkit.jobs_id_seq").await);
    // Of other duties there may be something to say, and of a machine that is too busy.
    let alarms = |level| log.lines(level).into_iter();
    let mut alarms = alarms(" WARN ").chain(alarms("ERROR"));
    assert_eq!(alarms.find(|line| line.contains("fire") && !line.contains("timeout")), None);
}
