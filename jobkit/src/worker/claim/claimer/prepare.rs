use std::time::Instant;

use super::Pace;
use crate::store::Claim;
use crate::worker::claim::slots::Slots;
use crate::worker::run::dispatch::Reservation;

/// The call for what fits now, and (queue, slots) for each queue it asks for.
pub(super) fn prepare<'a>(
    reservation: &Reservation,
    pace: &Pace,
    slots: &'a Slots,
    kinds: &'a [String],
    now: Instant,
) -> (Vec<(usize, usize)>, Claim<'a>) {
    let ahead = reservation.slots.ahead();
    let shares = reservation.slots.left().into_iter().enumerate();
    let mut requested: Vec<(usize, usize)> = shares.filter(|(_, slots)| *slots > 0).collect();
    // The server's limit on the answer's size favours the first: that is another one each time.
    fastrand::shuffle(&mut requested);
    let from_start = pace.water.at_start(requested.iter().map(|(queue, _)| *queue), now);
    let waters =
        || requested.iter().map(|(queue, _)| pace.water.marks(*queue)).filter(|_| !from_start);
    let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    let claim = Claim {
        id: reservation.claim,
        kinds,
        queues: requested.iter().map(|(queue, _)| &*slots.queues()[*queue].name).collect(),
        slots: requested.iter().map(|(_, slots)| count(*slots)).collect(),
        marks: waters().flat_map(|(marks, ..)| *marks).collect(),
        between: waters().map(|(_, first, last)| (count(first), count(last))).unzip(),
        ahead: match ahead.iter().all(|ahead| *ahead == 0) {
            true => Vec::new(),
            false => requested.iter().map(|(queue, _)| count(ahead[*queue])).collect(),
        },
    };
    (requested, claim)
}
