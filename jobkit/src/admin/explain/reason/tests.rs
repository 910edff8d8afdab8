use super::*;
use crate::admin::batches::CallbackRole::{OrElse, Then, ThenIfAll};

fn key(limit: u32, taken: u32, holders: &[i64]) -> KeyUse {
    let holders = holders.iter().copied().map(JobId).collect();
    KeyUse { group: "send_receipt".into(), key: "acme".into(), limit, taken, holders }
}

#[test]
fn permits_are_told_in_words() {
    for (limit, taken, holders, words) in [
        (1, 1, &[7][..], "limit 1, its permit held by job 7"),
        (2, 2, &[812, 815], "limit 2, both permits held by jobs 812 and 815"),
        (3, 3, &[1, 2, 3], "limit 3, all 3 permits held by jobs 1, 2 and 3"),
        (5, 5, &[1, 2], "limit 5, all 5 permits held by jobs 1, 2 and 3 others"),
        (1, 2, &[1, 2], "limit 1, 2 permits held by jobs 1 and 2"),
        (0, 1, &[1], "limit 0, 1 permit held by job 1"),
        (0, 0, &[], "limit 0, no permit taken"),
    ] {
        let text = key(limit, taken, holders).to_string();
        assert_eq!(text, format!("send_receipt/acme ({words})"));
    }
}

#[test]
fn a_blocked_job_is_told_its_place() {
    let blocked =
        |position, blocked| Reason::Blocked { position, blocked, key: key(1, 1, &[9]) }.to_string();
    let rest = "for send_receipt/acme (limit 1, its permit held by job 9)";
    assert_eq!(blocked(3, 17), format!("Blocked: 3rd of 17 {rest}"));
    assert_eq!(blocked(11, 21), format!("Blocked: 11th of 21 {rest}"));
    assert_eq!(blocked(10_000, 10_000), format!("Blocked: 10000th or later of 10,000+ {rest}"));
}

#[test]
fn a_pause_says_what_it_knows() {
    let paused = |actor: Option<&str>, reason: Option<&str>| {
        let (actor, reason) = (actor.map(Into::into), reason.map(Into::into));
        let since = DateTime::UNIX_EPOCH;
        let pause = Pause { since, until: None, actor, reason };
        Reason::Paused { scope: Scope::Queue("mail".into()), pause }.to_string()
    };
    let since = "since 1970-01-01 00:00:00 UTC";
    assert_eq!(paused(None, Some("")), format!("Its queue mail is paused {since}"));
    let full = paused(Some("ada"), Some("the gateway is down"));
    assert_eq!(full, format!("Its queue mail is paused by ada {since}: the gateway is down"));
}

#[test]
fn a_callback_is_told_how_far_its_batch_is() {
    let awaits = |role, members, open, failed| {
        let batch = BatchId(7);
        Reason::AwaitsBatch(BatchAwaited { batch, role, members, open, failed }).to_string()
    };
    for (role, [members, open, failed], words) in [
        (Then, [0, 0, 0], "Waits for batch 7: it has no members yet"),
        (Then, [10_000, 3, 9], "Waits for batch 7: 3 of 10,000 members have not ended"),
        (Then, [1, 1, 0], "Waits for batch 7: 1 of 1 members has not ended"),
        (Then, [1_000_000, 0, 0], "Waits for batch 7: all 1,000,000 members have ended"),
        (ThenIfAll, [9, 3, 0], "Waits for batch 7: 3 of 9 members have not ended"),
        (
            ThenIfAll,
            [9, 3, 2],
            "Waits for batch 7: 3 of 9 members have not ended; it will be discarded, since 2 of \
             them did not succeed",
        ),
        (
            OrElse,
            [9, 3, 0],
            "Runs if a member of batch 7 fails for good: 3 of 9 members have not ended",
        ),
    ] {
        assert_eq!(awaits(role, members, open, failed), words);
    }
}
