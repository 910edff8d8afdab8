use super::*;

#[test]
fn a_claim_is_held_until_its_last_job_is_settled() {
    let ledger = Ledger::new(7);
    let (claim, ahead) = ledger.begin();
    assert_eq!([claim.n, ahead.n], [1, 2]);
    assert_eq!(ledger.snapshot().concluded, 0, "a call in flight is not concluded");
    assert!(ledger.hold(claim, HashSet::from([10, 11])));
    ledger.settled(claim, 10);
    assert_eq!(ledger.snapshot().held, [1]);
    assert_eq!([10, 11].map(|job| ledger.holds(claim, job)), [false, true]);
    assert_eq!(ledger.unsettled(), (1, 0));
    ledger.put_off(claim, 11);
    assert_eq!((ledger.snapshot().held, ledger.unsettled()), (vec![1], (0, 1)));
    ledger.settled(claim, 11);
    assert_eq!((ledger.snapshot().held, ledger.unsettled()), (vec![], (0, 0)));
}

#[test]
fn a_call_that_was_given_up_is_concluded_and_not_held() {
    let ledger = Ledger::new(7);
    let (claim, ahead) = ledger.begin();
    ledger.give_up(claim, true);
    ledger.give_up(ahead, false);
    let snapshot = ledger.snapshot();
    assert_eq!((snapshot.concluded, &*snapshot.held, &*snapshot.suspect), (2, &[][..], &[1][..]));
    ledger.cleared(&snapshot);
    assert!(ledger.snapshot().suspect.is_empty());
}

#[test]
fn a_call_under_way_keeps_later_ones_from_being_concluded() {
    let ledger = Ledger::new(7);
    let [first, second] = [ledger.begin(), ledger.begin()];
    ledger.give_up(second.0, false);
    ledger.give_up(second.1, false);
    assert_eq!(ledger.snapshot().concluded, 0);
    assert!(ledger.hold(first.0, HashSet::from([10])));
    assert_eq!(ledger.snapshot().concluded, 1);
    ledger.hold_ahead(first.1, HashSet::new());
    assert_eq!(ledger.snapshot().concluded, 4);
}

#[test]
fn a_job_that_waits_keeps_its_claim_from_having_begun() {
    let ledger = Ledger::new(7);
    let [first, second] = [ledger.begin(), ledger.begin()];
    for (claim, ahead) in [first, second] {
        assert!(ledger.hold(claim, HashSet::from([claim.n * 10])));
        ledger.hold_ahead(ahead, HashSet::from([ahead.n * 10, ahead.n * 10 + 1]));
    }
    assert_eq!((ledger.snapshot().concluded, ledger.snapshot().begun), (4, 1));
    ledger.began(first.1, 20);
    assert_eq!(ledger.snapshot().begun, 1, "the other one waits");
    ledger.settled(first.1, 21);
    assert_eq!(ledger.snapshot().begun, 3, "it was given back");
    ledger.began(second.1, 40);
    ledger.began(second.1, 41);
    assert_eq!(ledger.snapshot().begun, 4);
}

#[test]
fn a_call_that_was_given_up_has_not_begun_until_a_heartbeat_gave_it_back() {
    let ledger = Ledger::new(7);
    let (claim, ahead) = ledger.begin();
    assert!(ledger.hold(claim, HashSet::from([10])));
    ledger.give_up(ahead, false);
    let snapshot = ledger.snapshot();
    assert_eq!((snapshot.concluded, snapshot.begun), (2, 1));
    ledger.cleared(&snapshot);
    assert_eq!(ledger.snapshot().begun, 2);
}

#[test]
fn a_job_with_a_claim_of_its_own_is_held_in_both_until_it_is_moved() {
    let ledger = Ledger::new(7);
    let (claim, _ahead) = ledger.begin();
    assert!(ledger.hold(claim, HashSet::from([10, 11])));
    assert_eq!(ledger.claims(claim, 10), [1]);
    assert_eq!([ledger.part(claim, 10), ledger.part(claim, 10)], [Some(3), Some(3)]);
    assert_eq!(ledger.part(ClaimId { n: 3, ..claim }, 10), None, "it is there");
    assert_eq!((ledger.snapshot().held, ledger.held(1)), (vec![1, 3], 2));
    ledger.parted(claim, 10);
    assert_eq!((ledger.held(1), ledger.unsettled()), (1, (2, 0)));
    assert!(ledger.holds(claim, 10), "who waits for its end knows the first claim");
    assert_eq!(ledger.part(claim, 11), None, "it is alone by now");
    assert_eq!(ledger.claims(claim, 10), [1, 3]);
    ledger.settled(ClaimId { n: 3, ..claim }, 10);
    assert!(!ledger.holds(claim, 10));
    ledger.settled(claim, 11);
    assert_eq!(ledger.snapshot().held, [0_i64; 0]);
}

#[test]
fn a_job_whose_move_was_not_answered_leaves_both_claims_with_its_end() {
    let ledger = Ledger::new(7);
    let (claim, _ahead) = ledger.begin();
    assert!(ledger.hold(claim, HashSet::from([10, 11])));
    ledger.part(claim, 10);
    ledger.settled(claim, 10);
    assert_eq!((ledger.snapshot().held, ledger.held(1)), (vec![1], 1));
}

#[test]
fn nothing_of_an_old_life_counts_in_the_new_one() {
    let ledger = Ledger::new(7);
    let [old, held] = [ledger.begin(), ledger.begin()];
    assert!(ledger.hold(held.0, HashSet::from([1])));
    ledger.begin_anew(8);
    assert!(!ledger.hold(old.0, HashSet::from([2])));
    ledger.hold_ahead(old.1, HashSet::from([3]));
    ledger.put_off(held.0, 1);
    assert_eq!(ledger.unsettled(), (0, 0));
    ledger.settled(held.0, 1);
    assert_eq!(
        ledger.snapshot(),
        Snapshot { worker: 8, concluded: 0, begun: 0, held: vec![], suspect: vec![] }
    );
}
