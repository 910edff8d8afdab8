use std::pin::pin;

use super::*;
use crate::store::{ClaimId, ClaimedJob, Lane};

fn slots(queues: &[usize]) -> Arc<Slots> {
    let served = |slots: &usize| Served::one("", *slots);
    Arc::new(Slots::new(queues.iter().map(served).collect()))
}

#[test]
fn what_a_call_took_is_free_again_unless_a_handler_has_it() {
    let slots = slots(&[3, 5]);
    let mut taken = slots.take_within(6);
    assert_eq!((taken.left(), slots.free()), (vec![3, 3], vec![0, 2]));
    taken.pass_on(1);
    drop(taken);
    assert_eq!(slots.free(), [3, 4]);
    slots.give_back(1, false);
    assert_eq!(slots.free(), [3, 5]);
}

#[test]
fn a_job_that_was_moved_to_a_queue_without_room_runs_all_the_same() {
    let slots = slots(&[1, 5]);
    slots.take_spare(&[1, 0]).pass_on(0);
    let mut taken = slots.take_spare(&[0, 5]);
    taken.pass_on(0);
    drop(taken);
    assert_eq!(slots.free(), [0, 5]);
    slots.give_back(0, false);
    assert_eq!(slots.free(), [0, 5], "another of it runs");
    slots.give_back(0, false);
    assert_eq!(slots.free(), [1, 5]);
}

#[test]
fn a_queue_with_a_backlog_has_no_spare_slots() {
    let slots = slots(&[3, 5]);
    slots.record(0, true);
    assert_eq!(slots.take_spare(&[2, 9]).left(), [2, 5], "it could have asked for more");
    let all = slots.take_within(8);
    slots.record(0, true);
    drop(all);
    assert_eq!(slots.take_spare(&[2, 9]).left(), [0, 5]);
    slots.record(0, false);
    assert_eq!(slots.take_spare(&[2, 0]).left(), [2, 0]);
}

#[test]
fn a_queue_that_waits_for_its_turn_wants_more() {
    let slots = slots(&[3, 5]);
    assert!(!slots.is_wanting());
    slots.record(0, true);
    assert!(slots.is_wanting());
    let _taken = slots.take_within(8);
    assert!(!slots.is_wanting(), "none of its slots is free");
}

#[test]
fn a_claimer_that_left_no_queue_out_is_woken_by_no_handler() {
    let slots = slots(&[1]);
    slots.take_within(1).pass_on(0);
    slots.give_back(0, false);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(pin!(slots.room(0, &[])).poll(&mut context).is_pending());
    assert!(pin!(slots.freed(0)).poll(&mut context).is_ready(), "nobody took the ring");
}

fn waiting(id: i64) -> Waiting {
    let claim = ClaimId { worker: 1, n: id };
    let job = ClaimedJob { id, lane: Lane::at(7), ..ClaimedJob::default() };
    Waiting { claim, job, since: Instant::now() }
}

fn id(waiting: Option<Waiting>) -> Option<i64> {
    waiting.map(|waiting| waiting.job.id)
}

#[test]
fn a_job_claimed_ahead_begins_where_a_handler_has_ended_and_no_sooner() {
    let slots = slots(&[2]);
    slots.allow_ahead(&[2]);
    let mut taken = slots.take_within(9);
    assert_eq!((taken.left(), taken.ahead()), (vec![4], vec![2]));
    assert_eq!(slots.free(), [0]);
    taken.pass_on(0);
    for job in [12, 11] {
        assert!(slots.wait(waiting(job)).is_none());
    }
    assert!(slots.next().is_none(), "the other slot is kept for a job of the call");
    drop(taken);
    assert_eq!(id(slots.next()), Some(11), "the oldest");
    assert!(slots.next().is_none());
    assert_eq!(slots.free(), [1]);
    assert_eq!(id(slots.give_back(0, false)), Some(12));
    assert_eq!(id(slots.give_back(0, false)), None);
    assert_eq!(slots.free(), [3]);
    assert_eq!(slots.ended(), [2]);
}

#[test]
fn where_a_job_waits_no_slot_is_spare() {
    let slots = slots(&[2]);
    slots.allow_ahead(&[1]);
    slots.take_within(1).pass_on(0);
    assert!(slots.wait(waiting(1)).is_none());
    assert_eq!(slots.take_spare(&[1]).left(), [0]);
    assert_eq!(id(slots.next()), Some(1));
    slots.give_back(0, false);
    assert_eq!(slots.take_spare(&[1]).left(), [1]);
}

#[test]
fn what_waits_can_be_withdrawn_and_nothing_waits_once_the_worker_stops() {
    let slots = slots(&[1]);
    slots.allow_ahead(&[3]);
    let before = Instant::now();
    for job in 1..=2 {
        slots.wait(waiting(job));
    }
    let ids = |waiting: Vec<Waiting>| waiting.iter().map(|w| w.job.id).collect::<Vec<_>>();
    assert!(slots.withdraw(before.checked_sub(Duration::from_secs(1))).is_empty());
    assert_eq!(ids(slots.withdraw(Some(Instant::now()))), [1, 2]);
    slots.wait(waiting(3));
    assert_eq!(ids(slots.withdraw(None)), [3]);
    assert_eq!(slots.free(), [1], "none is claimed ahead after one that waited in vain");
    slots.close();
    assert_eq!(id(slots.wait(waiting(4))), Some(4));
}

#[tokio::test]
async fn a_job_is_overdue_once_it_has_waited_for_long() {
    let slots = slots(&[1]);
    let patience = Duration::from_millis(20);
    let overdue = slots.overdue(patience);
    let mut overdue = pin!(overdue);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(overdue.as_mut().poll(&mut context).is_pending(), "nothing waits");
    let since = Instant::now();
    slots.wait(Waiting { since, ..waiting(1) });
    overdue.await;
    assert!(since.elapsed() >= patience);
}

#[test]
fn nothing_is_claimed_ahead_where_the_call_is_too_small_for_the_slots() {
    let slots = slots(&[3, 5]);
    slots.allow_ahead(&[3, 5]);
    let taken = slots.take_within(8);
    assert_eq!((taken.left(), taken.ahead()), (vec![3, 5], vec![0, 0]));
    drop(taken);
    assert_eq!(slots.take_within(9).ahead().iter().sum::<usize>(), 1);
}
