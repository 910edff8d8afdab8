//! Batches, as operators see and cancel them.

use jobkit::admin::batches::{
    BatchCancelled, BatchDetail, BatchQuery, BatchState, BatchSummary, CallbackRole, Members,
};
use jobkit::admin::dead_letters::DeadLetterId;
use jobkit::admin::jobs::{Ended, JobPage, JobQuery, State};
use jobkit::admin::operations::{BulkAction, OperationState};
use jobkit::batch::BatchId;
use jobkit::batch::OpenBatch;
use jobkit::{Batch, Enqueue, JobId};

use super::kit::{Desk, HOUR};
use crate::jobs::Noop;

/// Adds members, which are ready or wait for an hour.
async fn add(desk: &Desk, batch: OpenBatch, ready: usize, later: usize) -> Vec<JobId> {
    let mut tx = desk.lab.pool().begin().await.unwrap();
    let ready = (0..ready).map(|_| Noop.options());
    let later = (0..later).map(|_| Noop.options().after(HOUR));
    let added = batch.add(ready.chain(later), &mut tx).await.unwrap();
    tx.commit().await.unwrap();
    added.into_iter().map(|job| job.id()).collect()
}

/// A batch with a callback of each role.
async fn open(desk: &Desk) -> OpenBatch {
    let mut tx = desk.lab.pool().begin().await.unwrap();
    let batch = Batch::new().then(Noop).then_if_all(Noop).or_else(Noop);
    let batch = batch.open(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    batch
}

async fn close(desk: &Desk, batch: OpenBatch) {
    let mut tx = desk.lab.pool().begin().await.unwrap();
    batch.close(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
}

async fn look(desk: &Desk) {
    desk.lab.run("select jobkit.look_at_batches(100)").await;
}

async fn get(desk: &Desk, batch: BatchId) -> BatchDetail {
    desk.admin.batch(batch).get().await.unwrap().expect("it is there")
}

async fn list(desk: &Desk, query: BatchQuery) -> Vec<BatchSummary> {
    desk.admin.batches(query, None, 50).await.unwrap()
}

fn ids(batches: &[BatchSummary]) -> Vec<BatchId> {
    batches.iter().map(|batch| batch.id).collect()
}

async fn members(desk: &Desk, batch: BatchId, which: Members) -> Vec<JobId> {
    let members = desk.admin.batch(batch).members(which, None, 500).await.unwrap();
    members.into_iter().map(|job| job.id).collect()
}

#[tokio::test]
async fn batches_are_listed_with_what_became_of_their_members() {
    let desk = Desk::new().await;
    assert_eq!(list(&desk, BatchQuery::all()).await, []);
    let first = open(&desk).await;
    let jobs = add(&desk, first, 4, 0).await;
    let second = open(&desk).await;
    assert_eq!(ids(&list(&desk, BatchQuery::all()).await), [second.id(), first.id()]);
    let (n, _) = desk.claim().await;
    for (job, outcome) in jobs.iter().zip(["finish", "bury", "discard"]) {
        desk.settle(n, *job, outcome).await;
    }
    // Whether the changes have been added up or not.
    for _ in 0..2 {
        let batch = get(&desk, first.id()).await.summary;
        let counts = batch.counts;
        assert_eq!((counts.id, counts.members, counts.open()), (first.id(), 4, 1));
        assert_eq!((counts.finished, counts.dead, counts.discarded), (1, 1, 1));
        assert_eq!((batch.state(), batch.held), (BatchState::Open, 0));
        assert_eq!(list(&desk, BatchQuery::all()).await[1], batch);
        look(&desk).await;
        assert_eq!(desk.lab.count("jobkit.batch_tallies").await, 0);
    }
    close(&desk, first).await;
    assert_eq!(get(&desk, first.id()).await.summary.state(), BatchState::Closed);
    desk.settle(n, jobs[3], "finish").await;
    look(&desk).await;
    let ended = get(&desk, first.id()).await.summary;
    assert_eq!((ended.state(), ended.counts.open()), (BatchState::Ended, 0));
    assert!(ended.ended_at > ended.closed_at && ended.cancelled_at.is_none());
    assert_eq!(ids(&list(&desk, BatchQuery::all().open()).await), [second.id()]);
    let page = desk.admin.batches(BatchQuery::all(), Some(second.id()), 0).await.unwrap();
    assert_eq!(ids(&page), [first.id()]);
    assert_eq!(desk.admin.batch(BatchId(404)).get().await.unwrap(), None);
}

#[tokio::test]
async fn a_batch_says_where_its_callbacks_are() {
    let desk = Desk::new().await;
    let batch = open(&desk).await;
    let job = add(&desk, batch, 1, 0).await[0];
    close(&desk, batch).await;
    let shown = async || {
        let found = get(&desk, batch.id()).await.callbacks;
        let roles: Vec<_> = found.iter().map(|callback| callback.role).collect();
        use CallbackRole::{OrElse, Then, ThenIfAll};
        assert_eq!(roles, [Then, ThenIfAll, OrElse]);
        assert!(found.iter().all(|it| it.kind.as_deref().is_none_or(|kind| kind == "noop")));
        found.iter().map(|callback| (callback.state, callback.ended)).collect::<Vec<_>>()
    };
    assert_eq!(shown().await, [(Some(State::Scheduled), None); 3]);
    let overview = desk.admin.overview().await.unwrap();
    assert_eq!((overview.scheduled.number(), overview.next_run_at), (3, None));
    let (n, claimed) = desk.claim().await;
    assert_eq!(claimed, [job], "callbacks wait");
    desk.settle(n, job, "bury").await;
    look(&desk).await;
    let [then, if_all, or_else] = shown().await[..] else { panic!("there are three") };
    assert_eq!((then, or_else), ((Some(State::Ready), None), (Some(State::Ready), None)));
    // Its kind keeps none that were discarded.
    assert!(matches!(if_all, (None, None) | (Some(State::Finished), Some(Ended::Discarded))));
    let (n, claimed) = desk.claim().await;
    desk.settle(n, claimed[0], "bury").await;
    desk.settle(n, claimed[1], "finish").await;
    let [then, _, or_else] = shown().await[..] else { panic!("there are three") };
    assert_eq!(then, (Some(State::Dead), None));
    assert_eq!(or_else, (Some(State::Finished), Some(Ended::Succeeded)));
}

#[tokio::test]
async fn members_are_listed_by_where_they_are() {
    let desk = Desk::new().await;
    let batch = open(&desk).await;
    let jobs = add(&desk, batch, 3, 2).await;
    let other = open(&desk).await;
    add(&desk, other, 0, 1).await;
    let (n, _) = desk.claim().await;
    desk.settle(n, jobs[0], "finish").await;
    desk.settle(n, jobs[1], "bury").await;
    let of = async |which| members(&desk, batch.id(), which).await;
    assert_eq!(of(Members::All).await, jobs);
    assert_eq!(of(Members::Live).await, jobs[2..]);
    assert_eq!(of(Members::Finished).await, jobs[..1]);
    assert_eq!(of(Members::Dead).await, jobs[1..2]);
    let mut states = Vec::new();
    let mut after = None;
    loop {
        let page = desk.admin.batch(batch.id()).members(Members::All, after, 2).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        states.extend(page.into_iter().map(|job| (job.state, job.ended, job.error)));
    }
    let finished = (State::Finished, Some(Ended::Succeeded), None);
    let dead = (State::Dead, None, Some("why".to_owned()));
    let live = |state| (state, None, None);
    let waits = live(State::Scheduled);
    assert_eq!(states, [finished, dead, live(State::Running), waits.clone(), waits]);
    assert_eq!(members(&desk, BatchId(404), Members::All).await, []);
}

#[tokio::test]
async fn jobs_are_searched_for_by_their_batch() {
    let desk = Desk::new().await;
    let batch = open(&desk).await;
    let jobs = add(&desk, batch, 2, 3).await;
    jobkit::enqueue_all((0..9).map(|_| Noop), desk.lab.pool()).await.unwrap();
    let query =
        |words: &str| -> JobQuery { format!("{words} batch:{}", batch.id()).parse().unwrap() };
    let found = async |words: &str| {
        let page = desk.admin.jobs(&query(words), None, 100).await.unwrap();
        let JobPage { jobs, gave_up_after: None, .. } = page else { panic!("{page:?}") };
        let mut jobs: Vec<_> = jobs.into_iter().map(|job| job.id).collect();
        jobs.sort_unstable();
        jobs
    };
    assert_eq!(found("").await, jobs);
    assert_eq!(found("state:ready").await, jobs[..2]);
    assert_eq!(found("state:scheduled kind:noop").await, jobs[2..]);
    let newest = desk.admin.jobs(&query(""), None, 2).await.unwrap();
    assert_eq!(newest.jobs.iter().map(|job| job.id).collect::<Vec<_>>(), [jobs[4], jobs[3]]);
    let next = desk.admin.jobs(&query(""), newest.next, 2).await.unwrap();
    assert_eq!(next.jobs[0].id, jobs[2]);
    let (n, _) = desk.claim().await;
    desk.settle(n, jobs[0], "finish").await;
    assert_eq!(found("state:finished").await, jobs[..1]);
    assert_eq!(desk.admin.count_jobs(&query("")).await.unwrap().number(), 4);
    // An action on some of them leaves the others alone.
    let some = BulkAction::Cancel(query("state:scheduled"));
    let operation = desk.all(&some).await;
    assert_eq!((operation.total, operation.done), (Some(3), 3));
    assert_eq!(members(&desk, batch.id(), Members::Live).await, jobs[1..2]);
}

#[tokio::test]
async fn a_job_names_the_batches_that_it_belongs_to() {
    let desk = Desk::new().await;
    let batch = open(&desk).await;
    let job = add(&desk, batch, 1, 0).await[0];
    let of = async |job: JobId| {
        let job = desk.admin.job(job).get().await.unwrap().expect("it is there");
        (job.batch, job.callback_of)
    };
    let then = get(&desk, batch.id()).await.summary.then.unwrap();
    assert_eq!(of(job).await, (Some(batch.id()), None));
    assert_eq!(of(then).await, (None, Some(batch.id())));
    let (n, _) = desk.claim().await;
    desk.settle(n, job, "finish").await;
    assert_eq!(of(job).await, (Some(batch.id()), None));
    close(&desk, batch).await;
    look(&desk).await;
    let (n, claimed) = desk.claim().await;
    assert!(claimed.contains(&then));
    desk.settle(n, then, "bury").await;
    assert_eq!(of(then).await, (None, Some(batch.id())));
    let other = desk.pay("a").await;
    assert_eq!(of(other).await, (None, None));
}

#[tokio::test]
async fn cancelling_a_batch_is_one_operation_in_the_audit() {
    let mut desk = Desk::new().await;
    desk.admin = desk.admin.acting_as("ada");
    let batch = open(&desk).await;
    add(&desk, batch, 2, 3).await;
    let cancel = async || desk.admin.batch(batch.id()).cancel("a wrong import").await.unwrap();
    let BatchCancelled::By(operation) = cancel().await else { panic!("it is open") };
    assert_eq!(cancel().await, BatchCancelled::By(operation), "it has only begun");
    let summary = get(&desk, batch.id()).await.summary;
    assert_eq!(summary.state(), BatchState::Cancelling);
    assert!(summary.closed_at.is_some(), "nobody adds more");
    let entry = format!(
        "jobkit.audit where actor = 'ada' and action = 'begin' and subject_id = {operation}
            and detail->>'reason' = 'a wrong import' and detail->>'total' = '5'
            and detail->'filter' = jsonb_build_object('batch', {})",
        batch.id()
    );
    assert_eq!(desk.lab.count(&entry).await, 1);
    let done = desk.admin.operation(operation).run().await.unwrap().unwrap();
    assert_eq!((done.state, done.done, done.total), (OperationState::Done, 5, Some(5)));
    look(&desk).await;
    let summary = get(&desk, batch.id()).await.summary;
    assert_eq!((summary.state(), summary.counts.cancelled), (BatchState::Cancelled, 5));
    assert_eq!(cancel().await, BatchCancelled::NotFound);
    let unknown = desk.admin.batch(BatchId(404)).cancel("").await.unwrap();
    assert_eq!(unknown, BatchCancelled::NotFound);
    desk.lab.check_invariants().await;
}

/// A member that ignores the request to stop keeps the batch open, and it can be cancelled again.
#[tokio::test]
async fn a_batch_is_cancelled_again_while_a_member_runs() {
    let desk = Desk::new().await;
    let batch = open(&desk).await;
    let job = add(&desk, batch, 1, 0).await[0];
    let (n, _) = desk.claim().await;
    let mut operations = Vec::new();
    for _ in 0..2 {
        let cancelled = desk.admin.batch(batch.id()).cancel("").await.unwrap();
        let BatchCancelled::By(operation) = cancelled else { panic!("it is open") };
        let done = desk.admin.operation(operation).run().await.unwrap().unwrap();
        assert_eq!((done.state, done.stop_requested), (OperationState::Done, 1));
        operations.push(operation);
    }
    assert_ne!(operations[0], operations[1]);
    desk.settle(n, job, "cancel").await;
    look(&desk).await;
    assert_eq!(get(&desk, batch.id()).await.summary.state(), BatchState::Cancelled);
}

#[tokio::test]
async fn a_dead_letter_that_keeps_a_batch_open_is_counted() {
    let desk = Desk::new().await;
    let mut tx = desk.lab.pool().begin().await.unwrap();
    let batch = Batch::of([Noop]).then(Noop).hold_dead().enqueue(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    let (n, claimed) = desk.claim().await;
    desk.settle(n, claimed[0], "bury").await;
    look(&desk).await;
    let held = get(&desk, batch.id()).await.summary;
    assert_eq!((held.state(), held.held, held.counts.dead), (BatchState::Held, 1, 1));
    assert!(held.hold_dead && held.ended_at.is_none());
    let letter: i64 = desk.lab.value("select id from jobkit.dead_letters").await;
    desk.admin.dead_letter(DeadLetterId(letter)).discard().await.unwrap();
    look(&desk).await;
    let ended = get(&desk, batch.id()).await.summary;
    assert_eq!((ended.state(), ended.held), (BatchState::Ended, 0));
    assert_eq!((ended.counts.dead, ended.counts.discarded), (0, 1));
}
