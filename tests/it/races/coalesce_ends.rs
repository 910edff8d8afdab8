//! Jobs that coalesce: what a claim does with those that it may not begin, or gives up on, and what
//! is kept of those that end.

use jobkit_tests::Lab;

use super::calls::{Coalescing, cancel_mark, claim, enqueue_coalescing, lock_key, settle};
use super::kit::{ENDS, World, next_n};

in_a_lab![
    t173_what_goes_back_is_looked_for_again_soon,
    t174_a_claim_that_gives_up_on_a_key_ends_nothing_of_it,
    a_blocked_one_in_hand_is_left_for_the_next_claim,
    what_ends_is_kept_as_long_as_what_is_discarded,
];

impl World {
    /// Enqueues jobs of the one coalesce key, with a concurrency key or without one.
    async fn coalesce(&self, count: i32, key: &'static str) -> Vec<i64> {
        let keyed = Coalescing { key, ..Coalescing::default() };
        let answer = self.call(enqueue_coalescing(count, keyed)).await;
        answer.split(' ').map(|id| id.parse().unwrap()).collect()
    }

    /// How many of these have coalesced, and are in the history.
    async fn coalesced(&self, jobs: &[i64]) -> i64 {
        let ended = "reason like 'coalesced into job %' and outcome = 'coalesce'";
        self.lab
            .count(&format!(
                "jobkit.finished where {ended} and job_id = any ('{{{}}}')",
                jobs.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
            ))
            .await
    }
}

/// Since nobody is told when the one who has the older one in hand is done.
pub(crate) async fn t173_what_goes_back_is_looked_for_again_soon(lab: Lab) {
    let world = World::limited(lab, 9).await;
    let soon = |n| {
        format!(
            "select concat_ws(' ', string_agg(c.job_id::text, ' '),
                bool_or((c.note ->> 'again_in')::numeric <= 0.1) is not null)
            from jobkit.claim(1, {n}, '{{act}}', '{{default}}', '{{9}}') c"
        )
    };
    for key in ["", "c"] {
        for end in ENDS {
            let jobs = world.coalesce(2, key).await;
            let cancel = world.hold(cancel_mark(jobs[0])).await;
            assert_eq!(cancel.bystander(soon(next_n())).await, "t", "{key}");
            world.expect(jobs[1], "ready, charged 0").await;
            cancel.end(end).await;
            let answer = world.call(soon(next_n())).await;
            assert!(answer.ends_with(&format!("{} f", jobs[1])), "{key} {answer}");
            world.lab.check_invariants().await;
            world.clear().await;
        }
    }
}

/// It has the key not, so what is blocked there is for whoever has it.
pub(crate) async fn t174_a_claim_that_gives_up_on_a_key_ends_nothing_of_it(lab: Lab) {
    let world = World::limited(lab, 1).await;
    world.lab.run("alter function jobkit.claim_keyed set lock_timeout = '100ms'").await;
    for end in ENDS {
        let first = world.coalesce(1, "c").await[0];
        let n = world.claim(1, &[first]).await;
        let older = world.coalesce(1, "c").await[0];
        assert_eq!(world.call(claim(2, next_n(), 9)).await, "");
        // Both are blocked, as of very many some stay for a while.
        let stranger = format!("where id = {older}");
        world.lab.run(&format!("update jobkit.jobs set unique_key = 'other' {stranger}")).await;
        let newer = world.coalesce(1, "c").await[0];
        assert_eq!(world.call(claim(2, next_n(), 9)).await, "");
        world.lab.run(&format!("update jobkit.jobs set unique_key = 'k' {stranger}")).await;
        world.expect_key("c", &[first], &[older, newer]).await;
        let holder = world.hold(lock_key("c")).await;
        let newest = world.coalesce(1, "c").await[0];
        let refused = holder.waiter(claim(2, next_n(), 9)).await;
        assert_eq!(refused.answer().await.as_deref(), Ok(""));
        world.expect(newest, "ready, charged 0").await;
        assert_eq!(world.coalesced(&[older, newer]).await, 0);
        holder.end(end).await;
        world.call(settle(1, n, first, "finish")).await;
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

/// Somebody changes its payload between the look of a claim and its end: nobody waits for that.
pub(crate) async fn a_blocked_one_in_hand_is_left_for_the_next_claim(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for end in ENDS {
        let first = world.coalesce(1, "c").await[0];
        let n = world.claim(1, &[first]).await;
        let older = world.coalesce(1, "c").await[0];
        assert_eq!(world.call(claim(2, next_n(), 9)).await, "");
        let stranger = format!("where id = {older}");
        world.lab.run(&format!("update jobkit.jobs set unique_key = 'other' {stranger}")).await;
        let newer = world.coalesce(1, "c").await[0];
        assert_eq!(world.call(claim(2, next_n(), 9)).await, "");
        world.lab.run(&format!("update jobkit.jobs set unique_key = 'k' {stranger}")).await;
        let change = format!("update jobkit.jobs set args = args {stranger} returning ''");
        let change = world.hold(change).await;
        let ended = format!("select jobkit.coalesce_blocked('{{{newer}}}')::text");
        assert_eq!(change.bystander(ended).await, "");
        world.expect_key("c", &[first], &[older, newer]).await;
        change.end(end).await;
        let newest = world.coalesce(1, "c").await[0];
        assert_eq!(world.call(claim(2, next_n(), 9)).await, "");
        world.expect_key("c", &[first], &[newest]).await;
        assert_eq!(world.coalesced(&[older, newer]).await, 2);
        world.call(settle(1, n, first, "finish")).await;
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

/// Also where the kind keeps nothing else.
pub(crate) async fn what_ends_is_kept_as_long_as_what_is_discarded(lab: Lab) {
    let world = World::new(lab).await;
    for (finished, discarded, kept) in
        [("null", "'1 hour'", 1), ("'1 hour'", "null", 1), ("null", "null", 0)]
    {
        world
            .lab
            .run(&format!(
                "update jobkit.kinds set retention = {finished}, retention_discarded = {discarded}"
            ))
            .await;
        let jobs = world.coalesce(2, "").await;
        assert_eq!(world.call(claim(1, next_n(), 9)).await, jobs[1].to_string());
        assert_eq!(world.coalesced(&jobs[..1]).await, kept, "{finished} {discarded}");
        world.clear().await;
    }
}
