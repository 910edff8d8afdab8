//! Sixty-four producers of one key at once, of which half roll back, whatever they meet.

use jobkit::Enqueue;
use jobkit::unique::{Enqueued, OnDuplicate, While};
use jobkit_tests::Lab;
use sqlx::{Connection, PgConnection};

use super::stage::{STAGES, Stage, clear, prepare};

/// What a producer was told whose transaction was committed.
#[derive(Debug)]
struct Told {
    /// Later ones of those that changed a job were told later, since they have waited.
    turn: i64,
    at: usize,
    what: OnDuplicate,
    answer: Enqueued,
}

/// One state of a job, how long it has its key, and what duplicates are to do.
#[derive(Debug, Clone, Copy)]
struct Round {
    number: usize,
    stage: Stage,
    during: While,
    again: bool,
}

impl Round {
    /// Of 36 in a row each is another one.
    fn of(number: usize) -> Self {
        let stage = STAGES[number % STAGES.len()];
        let [queued, running, unfinished] = [While::Queued, While::Running, While::Unfinished];
        let during = [queued, running, unfinished, unfinished][number % 4];
        Self { number, stage, during, again: number % 4 == 3 }
    }

    /// Whether a job comes after the one that has the key.
    fn follows(self) -> bool {
        self.again && self.kept() && !self.stage.waits()
    }

    /// Whether the job that was there has the key in the end.
    fn kept(self) -> bool {
        self.stage.holds(self.during)
    }

    fn what(self, at: usize) -> OnDuplicate {
        let what = [OnDuplicate::Skip, OnDuplicate::Replace, OnDuplicate::Debounce];
        let what = what.into_iter().chain(self.again.then_some(OnDuplicate::RunAgain));
        let what: Vec<_> = what.collect();
        what[at / 2 % what.len()]
    }

    /// How many jobs of the key there are afterwards.
    fn jobs(self) -> i64 {
        let runs_beside = self.stage == Stage::Running && !self.kept();
        1 + i64::from(self.follows()) + i64::from(runs_beside)
    }
}

/// Whoever is told of a new job made the only one, whoever is told of another names one that is
/// there and does what was committed; and after a commit there is one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_producers_of_one_key_make_one_job() {
    let rounds = std::env::var("JOBKIT_ROUNDS").ok().and_then(|text| text.parse().ok());
    let lab = Lab::new().await;
    prepare(&lab).await;
    let mut sessions = Vec::new();
    for _ in 0..64 {
        sessions.push(lab.session("producer").await.connection);
    }
    for round in (0..rounds.unwrap_or(STAGES.len())).map(Round::of) {
        let before = round.stage.set(&lab, round.during).await;
        let tasks = sessions.into_iter().enumerate();
        let tasks: Vec<_> =
            tasks.map(|(at, session)| tokio::spawn(produce(session, at, round))).collect();
        let mut told = Vec::new();
        sessions = Vec::new();
        for task in tasks {
            let (connection, answer) = task.await.unwrap();
            sessions.push(connection);
            told.extend(answer);
        }
        check(&lab, round, before, &told).await;
        lab.check_invariants().await;
        clear(&lab).await;
    }
}

/// A transaction that enqueues a duplicate of some sort; what it was told, if it commits.
async fn produce(
    mut connection: PgConnection,
    at: usize,
    round: Round,
) -> (PgConnection, Option<Told>) {
    let mut tx = connection.begin().await.unwrap();
    let what = round.what(at);
    let job = round.stage.touch(&at.to_string()).options().unique_while(round.during);
    let answer = job.on_duplicate(what).enqueue_unique(&mut *tx).await.unwrap();
    let turn = sqlx::query_scalar("select nextval('turns')").fetch_one(&mut *tx).await.unwrap();
    let commits = (at + round.number).is_multiple_of(2);
    if commits {
        tx.commit().await.unwrap();
    } else {
        tx.rollback().await.unwrap();
    }
    (connection, commits.then_some(Told { turn, at, what, answer }))
}

async fn check(lab: &Lab, round: Round, before: Option<i64>, told: &[Told]) {
    let held = "select array[job_id, coalesce(follower_id, 0)] from jobkit.unique_keys
        where unique_keys.key = 'k'";
    let [holder, follower] = lab.value::<Vec<i64>>(held).await[..] else { unreachable!() };
    assert_eq!(before == Some(holder), round.kept(), "{round:?}: {holder} has it");
    assert_eq!(follower > 0, round.follows(), "{round:?}: {follower} follows");
    assert_eq!(lab.count("jobkit.jobs where unique_key = 'k'").await, round.jobs(), "{round:?}");
    let new = told.iter().filter(|told| matches!(told.answer, Enqueued::New(_))).count();
    assert_eq!(new, usize::from(!round.kept() || round.follows()), "{round:?}: {told:?}");
    let changeable = !round.kept() || round.stage.waits();
    for Told { what, answer, .. } in told {
        let again = *what == OnDuplicate::RunAgain && !changeable;
        let job = if again { follower } else { holder };
        let changes = again || changeable && *what != OnDuplicate::Skip;
        let true_of = match answer {
            Enqueued::New(_) => again || !round.kept(),
            Enqueued::Replaced(_) => changes,
            Enqueued::Existing(_) => !changes,
        };
        assert!(true_of && answer.id().0 == job, "{round:?}: {answer:?} to {what:?}, {held:?}");
    }
    for job in [holder, follower].into_iter().filter(|job| *job > 0) {
        let by = format!("select args ->> 'by' from jobkit.jobs where id = {job}");
        assert_eq!(lab.value::<String>(&by).await, newest(told, job), "{round:?}: {told:?}");
    }
}

/// Whose payload a job has: that of whoever changed it last and committed.
fn newest(told: &[Told], job: i64) -> String {
    let gives = |told: &&Told| match told.answer {
        Enqueued::New(id) => id.0 == job,
        Enqueued::Replaced(id) => id.0 == job && told.what != OnDuplicate::Debounce,
        Enqueued::Existing(_) => false,
    };
    let last = told.iter().filter(gives).max_by_key(|told| told.turn);
    last.map_or("before".to_owned(), |told| told.at.to_string())
}
