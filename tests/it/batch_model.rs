//! The design of batches, before any SQL: whatever the order of statements and whoever dies, the
//! callback of a batch becomes ready once, when its last member has ended; each design that was not
//! taken fails at that.

use jobkit_tests::batches::{Broken, Mistake, Program, Row, World, search};

use Program::{AddByMember, AddByOpener, CancelCallback, Close, Look, Reap, Settle};

/// A batch of which so many members run, and which may be open for more.
fn world(members: u8, open: bool) -> World {
    let mut rows = vec![Row::Batch, Row::Callback];
    rows.extend((0..members).flat_map(|job| [Row::Member(job), Row::Claim(job)]));
    rows.extend(open.then_some(Row::Open));
    World::new(&rows)
}

fn holds(world: &World, programs: &[Program], deaths: u8) {
    let found = search(world, programs, deaths, None);
    println!("{programs:?}, {deaths} deaths: {} states", found.states);
    assert_eq!(found.broken, None, "{programs:?}");
}

/// A program that died is sent again: by a worker that settles once more, or by the next one.
#[test]
fn the_callback_becomes_ready_once_after_the_last_end() {
    holds(&world(2, false), &[Settle(0), Settle(1), Settle(0), Settle(1), Look, Look], 1);
    holds(&world(3, false), &[Settle(0), Settle(1), Settle(2), Look, Look], 0);
    holds(&world(1, false), &[Settle(0), Settle(0), Look, Look], 2);
    holds(&world(1, false), &[Settle(0), Look, Look, CancelCallback], 1);
}

#[test]
fn a_member_that_is_run_again_has_not_ended() {
    holds(&world(2, false), &[Settle(0), Reap(0), Settle(0), Settle(1), Look], 0);
}

#[test]
fn members_and_openers_add_to_a_batch_that_stays_open_for_it() {
    holds(&world(1, false), &[AddByMember(0, 1), Settle(0), Settle(1), Look, Look], 0);
    holds(&world(1, true), &[AddByOpener(1), Close, Settle(0), Settle(1), Look], 0);
    holds(&world(1, false), &[AddByMember(0, 1), Reap(0), Settle(0), Settle(1), Look], 0);
}

#[test]
fn every_design_that_was_not_taken_fails() {
    let (two, one, open) = (world(2, false), world(1, false), world(1, true));
    let ends: &[Program] = &[Settle(0), Settle(1), Look];
    let adds: &[Program] = &[AddByMember(0, 1), Settle(0), Look];
    for (mistake, world, programs, deaths, broken) in [
        (Mistake::TallyOfLast, &two, ends, 0, Broken::Stuck),
        (Mistake::ReapEnds, &one, &[Reap(0), Settle(0), Look], 0, Broken::EndedEarly),
        (Mistake::LookEarly, &two, ends, 0, Broken::Stuck),
        (Mistake::LookUnlocked, &one, adds, 0, Broken::EndedEarly),
        (Mistake::TakeApart, &one, &[Settle(0), Look], 1, Broken::Stuck),
        (Mistake::HeldSkipped, &one, adds, 1, Broken::Stuck),
        (Mistake::CallbackApart, &one, &[Settle(0), Look], 1, Broken::Stuck),
        (Mistake::EndUnchecked, &two, &[Settle(0), Settle(1), Look, Look], 0, Broken::CalledTwice),
        (Mistake::CallbackSkipped, &one, &[Settle(0), Look, CancelCallback], 0, Broken::Stuck),
        (Mistake::AddUnlocked, &one, adds, 0, Broken::EndedEarly),
        (Mistake::AddUnchecked, &one, adds, 0, Broken::EndedEarly),
        (Mistake::CloseQuietly, &open, &[Settle(0), Close, Look], 0, Broken::Stuck),
    ] {
        let found = search(world, programs, deaths, Some(mistake));
        let failed = found.broken.unwrap_or_else(|| panic!("{mistake:?} does no harm"));
        println!("{mistake:?}: {failed:?} after {} states", found.states);
        assert_eq!(failed.0, broken, "{mistake:?}");
    }
}
