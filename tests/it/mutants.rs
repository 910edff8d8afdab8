//! The races, and the looks at plans, find what they are there to find: each mutant is an installed
//! function with one lock, one check or one filter taken out, and the test named beside it fails.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Once;
use std::time::Duration;

use jobkit_tests::Lab;

use crate::plans;
use crate::races::{cancel, claim, isolation, producers, prune, reap, settle};

/// How long a race may hang on a mutant, which then counts as found.
const DEADLINE: Duration = Duration::from_secs(60);

/// The name of the threads whose panics are expected.
const THREAD: &str = "mutant";

type Race = fn(Lab) -> Pin<Box<dyn Future<Output = ()>>>;

/// A function with one passage replaced, and the race that notices.
struct Mutant {
    function: &'static str,
    find: &'static str,
    replace: &'static str,
    name: &'static str,
    race: Race,
}

macro_rules! mutants {
    ($($function:ident: $find:literal => $replace:literal, $file:ident::$race:ident;)*) => {
        &[$(Mutant {
            function: stringify!($function),
            find: $find,
            replace: $replace,
            name: concat!(stringify!($file), "::", stringify!($race)),
            race: |lab| Box::pin($file::$race(lab)),
        }),*]
    };
}

const MUTANTS: &[Mutant] = mutants! {
    // The claim's fence.
    settle: "c.n = v_n for update" => "c.n = v_n for key share",
        settle::a_late_finish_waits_for_any_other_outcome_and_is_lost;
    settle: "c.n = v_n for update" => "c.n = v_n",
        settle::outcomes_of_one_batch_take_turns;
    settle: "c.n = v_n for update" => "c.n = v_n for update skip locked",
        settle::a_late_finish_waits_for_any_other_outcome_and_is_lost;
    settle: "intersect select unnest(v_listed)" => "",
        settle::two_retries_of_a_job_are_charged_once;
    settle: "where o.n = v_n" => "",
        settle::a_late_outcome_leaves_the_next_attempt_alone;
    settle: "order by j.id for update" => "order by j.id",
        cancel::a_retry_behind_a_mark_ends_the_job;
    settle: "where o.job = any (v_gone) is not true" => "where o.job = any (v_gone) is null",
        settle::a_batch_of_outcomes_counts_but_for_the_lost_ones;
    // What an outcome becomes.
    settle_one: "p_job.cancel_requested_at is not null" => "false",
        cancel::a_mark_on_a_running_job_turns_every_wait_into_an_end;
    settle_one: "v_attempt >= p_job.max_attempts" => "false",
        settle::the_last_attempt_is_buried_once;
    finish_all: "if v_retried then" => "if false then",
        settle::a_late_outcome_leaves_the_next_attempt_alone;
    crash: "p_job.cancel_requested_at is not null" => "false",
        cancel::a_reap_behind_a_mark_ends_the_job;
    // A claim and its worker.
    claim: " for key share;" => ";",
        claim::a_claim_in_flight_keeps_its_worker;
    claim: " for key share;" => ";",
        claim::a_claim_behind_the_reap_of_its_worker_fails;
    claim: " for key share;" => " for share;",
        claim::a_claim_in_flight_holds_up_no_heartbeat;
    claim: " for key share;" => " for key share skip locked;",
        claim::a_claim_behind_the_end_of_its_worker_fails;
    claim: " and w.lease_until > clock_timestamp()" => "",
        claim::a_claim_without_a_lease_is_refused;
    claim: "limit p_slots[q] for update skip locked" => "limit p_slots[q] for update",
        claim::two_claims_share_nothing;
    claim: "limit p_slots[q] - v_count for update skip locked" =>
        "limit p_slots[q] - v_count for update",
        claim::two_claims_from_the_marks_share_nothing;
    claim: "j.cancel_requested_at is not null, j.args, j.tags, j.metadata\n    from job j" =>
        "false, j.args, j.tags, j.metadata\n    from job j",
        cancel::a_marked_job_is_handed_out_only_to_be_cancelled;
    // What a claim reads.
    claim: "order by s.priority, s.without_permit, s.job_id\n" =>
        "order by s.priority, s.without_permit, s.job_id + 0\n",
        plans::a_claim_reads_what_it_takes_of_ten_thousand;
    claim: "s.queue = p_queues[q] and s.kind = any (p_kinds)\n                        order" =>
        "s.queue || '' = p_queues[q] and s.kind = any (p_kinds)\n                        order",
        plans::a_claim_reads_what_it_takes_of_ten_thousand;
    claim: "and s.job_id > v_scan.mark" => "and s.job_id + 0 > v_scan.mark",
        plans::a_marked_claim_passes_over_jobs_of_unknown_kinds;
    claim: "and s.job_id > v_scan.mark" => "and s.job_id + 0 > v_scan.mark",
        plans::a_marked_claim_passes_over_dead_entries_that_a_reader_pins;
    // Reapers.
    reap_workers: "w.lease_until < clock_timestamp()" => "true",
        reap::a_worker_with_a_lease_is_not_reaped;
    reap_workers: "and pg_postmaster_start_time() + w.lease < clock_timestamp()" => "",
        reap::nobody_is_reaped_within_a_lease_of_the_servers_start;
    reap_workers: "for update skip locked" => "for update",
        reap::a_heartbeat_in_flight_keeps_its_worker;
    reap_workers: "for update skip locked" => "for no key update skip locked",
        claim::a_claim_in_flight_keeps_its_worker;
    reap_claim: "for update skip locked" => "for update",
        reap::a_claim_being_settled_is_not_reaped;
    reap_claim: "for update skip locked" => "",
        reap::a_claim_is_reaped_once;
    reap_claim: " or exists (select from jobkit.workers w where w.id = p_worker)" => "",
        reap::a_claim_of_a_living_worker_is_not_reaped;
    release_lost: "order by c.n for update skip locked" => "order by c.n for update",
        reap::a_claim_being_settled_is_not_given_back;
    release_lost: " and c.n <> all (p_held)" => "",
        reap::a_claim_held_or_not_concluded_is_not_given_back;
    release_lost: "c.n <= p_concluded and " => "",
        reap::a_claim_held_or_not_concluded_is_not_given_back;
    // Cancels and promotions.
    pull: "and q.without_permit = any ('{f,t}') and q.job_id = j.id
            where j.id = any (p_jobs) for update of q skip locked" =>
        "and q.without_permit = any ('{f,t}') and q.job_id = j.id
            where j.id = any (p_jobs) for update of q",
        cancel::a_claim_in_flight_is_not_waited_for_by_a_cancel;
    pull: "on q.run_at = j.run_at and q.job_id = j.id
            where j.id = any (p_jobs) for update of q skip locked" =>
        "on q.run_at = j.run_at and q.job_id = j.id
            where j.id = any (p_jobs) for update of q",
        cancel::a_promotion_in_flight_is_not_waited_for_by_a_cancel;
    promote: "limit p_limit for update skip locked\n            ))" =>
        "limit p_limit for update\n            ))",
        claim::two_promotions_share_nothing;
    // Isolation, producers, partitions.
    require_read_committed: "if current_setting" => "if false and current_setting",
        isolation::what_waits_and_then_reads_refuses_other_levels;
    enqueue_jobs: "return query" =>
        "perform from jobkit.workers for update; return query",
        producers::a_producer_waits_for_nobody;
    enqueue_jobs: "return query" =>
        "lock table jobkit.finished_days in exclusive mode; return query",
        producers::nobody_waits_for_a_producer;
    finished_prepare: "lock table jobkit.finished_days in share row exclusive mode;" => "",
        prune::two_services_make_a_partition_once;
    finished_expired: "else 'concurrently'" => "else ''",
        prune::a_reader_of_finished_stalls_the_pruner_but_no_outcome;
};

impl Mutant {
    /// Installs the mutant in a lab.
    async fn install(&self, lab: &Lab) {
        lab.mutate(self.function, self.find, self.replace).await;
    }

    /// What the race said, or `None` when it passed.
    ///
    /// A thread of its own, by whose name the panic hook knows that the panic is expected.
    fn complaint(&'static self) -> Option<String> {
        let run = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let lab = Lab::new().await;
                self.install(&lab).await;
                let race = AssertUnwindSafe(|| tokio::time::timeout(DEADLINE, (self.race)(lab)));
                race().await.expect("a race ends in time");
            });
        };
        let thread = std::thread::Builder::new().name(THREAD.to_owned());
        let done = thread.spawn(move || catch_unwind(AssertUnwindSafe(run))).unwrap().join();
        done.unwrap().err().map(|panic| message(&*panic))
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}

/// Keeps the expected panics out of the output.
fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if std::thread::current().name() != Some(THREAD) {
                usual(panic);
            }
        }));
    });
}

#[test]
fn each_mutant_is_found_by_its_race() {
    silence();
    let mut survivors = Vec::new();
    for mutant in MUTANTS {
        let Mutant { function, find, replace, name, .. } = mutant;
        let complaint = mutant.complaint();
        let what = format!("{function}: {find:?} => {replace:?}, {name}");
        match complaint {
            // It must be a function that works and does the wrong thing: SQLSTATE 42… is a typing
            // mistake, in the mutant or in the race.
            Some(text) if !text.starts_with("42") && !text.contains("this passage") => {
                println!("{what}\n    {}", text.lines().collect::<Vec<_>>().join(" "));
            }
            complaint => survivors.push(format!("{what}: {complaint:?}")),
        }
    }
    assert!(survivors.is_empty(), "not found:\n{}", survivors.join("\n"));
}
