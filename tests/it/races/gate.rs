//! A pause beside everybody else who may give a permit: whoever is first, none ends in the paused
//! queue.

use jobkit_tests::Lab;

use super::calls::{
    Keyed, cancel_mark, cancel_take, limit_group, limit_key, pause, reap_claim, release_lost,
    reschedule, resume, settle, sweep, sweep_unserved,
};
use super::kit::{ENDS, World};
use super::pause::{BLOCKED, READY, block, gone, other, wide};

in_a_lab![
    a_pause_takes_back_what_a_limit_gives,
    a_pause_takes_back_what_a_sweep_gives,
    a_pause_takes_back_what_a_reap_gives,
    a_pause_takes_back_what_a_give_back_gives,
    a_pause_takes_back_what_a_cancel_gives,
    a_pause_takes_back_what_a_reschedule_gives,
    a_pause_takes_back_what_a_sweep_of_the_unserved_gives,
];

pub(crate) async fn a_pause_takes_back_what_a_limit_gives(lab: Lab) {
    beside_a_pause(lab, Giver::Limit).await;
}

pub(crate) async fn a_pause_takes_back_what_a_sweep_gives(lab: Lab) {
    beside_a_pause(lab, Giver::Sweep).await;
}

pub(crate) async fn a_pause_takes_back_what_a_reap_gives(lab: Lab) {
    beside_a_pause(lab, Giver::Reap).await;
}

pub(crate) async fn a_pause_takes_back_what_a_give_back_gives(lab: Lab) {
    beside_a_pause(lab, Giver::GiveBack).await;
}

pub(crate) async fn a_pause_takes_back_what_a_cancel_gives(lab: Lab) {
    beside_a_pause(lab, Giver::Cancel).await;
}

pub(crate) async fn a_pause_takes_back_what_a_reschedule_gives(lab: Lab) {
    beside_a_pause(lab, Giver::Reschedule).await;
}

pub(crate) async fn a_pause_takes_back_what_a_sweep_of_the_unserved_gives(lab: Lab) {
    beside_a_pause(lab, Giver::SweepUnserved).await;
}

/// Whose call gives the permit: of a limit that has room, of a job that ends while it runs, or of
/// one that loses it while it waits.
#[derive(Debug, Clone, Copy)]
enum Giver {
    Limit,
    Sweep,
    Reap,
    GiveBack,
    Cancel,
    Reschedule,
    SweepUnserved,
}

/// First the pause comes behind the giver, then before it.
async fn beside_a_pause(lab: Lab, giver: Giver) {
    let world = wide(lab, 1).await;
    for end in ENDS {
        let (give, paused, next) = stage(&world, giver).await;
        let given = world.hold(give).await;
        let pausing = given.waiter(pause("other")).await;
        given.end(end).await;
        assert_eq!(pausing.answer().await.as_deref(), Ok("true"), "{giver:?}");
        world.expect(paused, BLOCKED).await;
        world.expect(next, end.pick(READY, BLOCKED)).await;
        assert_eq!(world.call(resume("other")).await, "true");
    }
    for end in ENDS {
        let (give, paused, next) = stage(&world, giver).await;
        let pausing = world.hold(pause("other")).await;
        let given = pausing.waiter(give).await;
        pausing.end(end).await;
        given.answer().await.unwrap();
        world.expect(paused, end.pick(BLOCKED, READY)).await;
        world.expect(next, end.pick(READY, BLOCKED)).await;
        world.call(resume("other")).await;
    }
}

/// Somebody has the only permit of a key, and two wait for it: the first in the queue that is to be
/// paused. Returns the call that gives a permit, and those two.
async fn stage(world: &World, giver: Giver) -> (String, i64, i64) {
    world.clear().await;
    world.register(1).await;
    world.register_for(4, "default", "gone").await;
    world.call(limit_group("null")).await;
    let once = Keyed { max_attempts: 1, ..Keyed::from("a") };
    let (n, [running]) = world.running_keyed([once]).await;
    let waiting = match giver {
        Giver::Cancel | Giver::Reschedule => Some(Keyed::from("a")),
        Giver::SweepUnserved => Some(gone("a")),
        _ => None,
    };
    let waiting = match waiting {
        Some(job) => Some(block(world, job).await),
        None => None,
    };
    let (paused, next) = (block(world, other("a")).await, block(world, Keyed::from("a")).await);
    if let Some(job) = waiting {
        assert_eq!(world.call(settle(1, n, running, "finish")).await, format!("{job} unblock"));
    }
    let holder = waiting.unwrap_or(running);
    if let Giver::GiveBack | Giver::Cancel = giver {
        assert_eq!(world.call(cancel_mark(holder)).await, "true");
    }
    let give = match giver {
        Giver::Limit => limit_key("a", "2"),
        Giver::Sweep => {
            assert_eq!(world.call(limit_group("2")).await, "true");
            sweep()
        }
        Giver::Reap => {
            world.bury_worker(1).await;
            reap_claim(1, n)
        }
        Giver::GiveBack => release_lost(1, n, &[]),
        Giver::Cancel => cancel_take(holder),
        Giver::Reschedule => reschedule(&[holder], "'1 hour'"),
        Giver::SweepUnserved => {
            world.bury_worker(4).await;
            sweep_unserved()
        }
    };
    (give, paused, next)
}
