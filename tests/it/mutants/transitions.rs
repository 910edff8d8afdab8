//! Mutants of the transitions of jobs without concurrency keys.

use super::Mutant;
use crate::races::{ahead, cancel, claim, isolation, order, producers, prune, reap, settle};
use crate::{clock, old_plans, plans};

pub(super) const MUTANTS: &[Mutant] = mutants! {
    // The claim's fence.
    settle: "c.job_ids = p.job" => "false" with
    settle_partial: "c.n = g.n for update" => "c.n = g.n for key share",
        settle::a_late_finish_waits_for_any_other_outcome_and_is_lost;
    settle: "c.job_ids = p.job" => "false" with
    settle_partial: "c.n = g.n for update" => "c.n = g.n",
        settle::outcomes_of_one_batch_take_turns;
    settle: "c.job_ids = p.job" => "false" with
    settle_partial: "c.n = g.n for update" => "c.n = g.n for update skip locked",
        settle::a_late_finish_waits_for_any_other_outcome_and_is_lost;
    settle: "c.job_ids = p.job" => "false" with
    settle_partial: "l.jobs = l.job_ids" => "true",
        settle::two_retries_of_a_job_are_charged_once;
    settle: "c.job_ids = p.job" => "false" with
    settle_partial: "((l.n, j) in (select * from unnest(p.n, p.job)))" => "(j = any (p.job))",
        settle::a_late_outcome_leaves_the_next_attempt_alone;
    settle: "c.job_ids = p.job" => "false" with
    settle_partial: "((l.n, j) in (select * from unnest(p.n, p.job)))" => "(true)",
        settle::outcomes_of_one_batch_take_turns;
    settle: "c.job_ids = p.job" => "false" with
    settle_partial: "l.jobs = l.job_ids" => "true",
        settle::a_batch_of_outcomes_counts_but_for_the_lost_ones;
    settle_partial: "then l.jobs else" => "then '{}' else",
        settle::whole_claims_parts_and_lost_ones_go_in_one_call;
    settle_partial: "cardinality(s.settled) = cardinality(s.job_ids)" => "false",
        settle::whole_claims_parts_and_lost_ones_go_in_one_call;
    settle_partial: "where ((c.n, j) in (select * from unnest(p.n, p.job))) is not true" => "",
        settle::whole_claims_parts_and_lost_ones_go_in_one_call;
    settle: "order by j.id for update" => "order by j.id",
        cancel::a_retry_behind_a_mark_ends_the_job;
    settle: "where o.job = any (v_gone) is not true" => "where o.job = any (v_gone) is null",
        settle::a_batch_of_outcomes_counts_but_for_the_lost_ones;
    settle: "c.job_ids = p.job" => "true",
        settle::a_batch_of_outcomes_counts_but_for_the_lost_ones;
    // What an outcome becomes.
    settle_one: "p_job.cancel_requested_at is not null" => "false",
        cancel::a_mark_on_a_running_job_turns_every_wait_into_an_end;
    settle_one: "or p_job.attempt > 0" => "or v_ending = 'release' and p_job.attempt > 0",
        settle::a_job_that_failed_is_retrying_whenever_it_is_scheduled;
    settle_one: "or p_job.attempt > 0" => "or v_ending = 'snooze' and p_job.attempt > 0",
        settle::a_job_that_failed_is_retrying_whenever_it_is_scheduled;
    reschedule: "j.attempt > 0" => "false",
        settle::a_job_that_failed_is_retrying_whenever_it_is_scheduled;
    settle_one: "v_attempt >= p_job.max_attempts" => "false",
        settle::the_last_attempt_is_buried_once;
    end_jobs: "if v_retried or v_logged then" => "if false then",
        settle::a_late_outcome_leaves_the_next_attempt_alone;
    crash: "p_job.cancel_requested_at is not null" => "false",
        cancel::a_reap_behind_a_mark_ends_the_job;
    lock_jobs: "order by j.id for update" => "order by j.id",
        cancel::a_reap_behind_a_mark_ends_the_job;
    // What is claimed ahead.
    claim_ahead: "p_slots[1] - p_ahead[1]" => "p_slots[1]",
        ahead::what_is_claimed_ahead_is_a_claim_of_its_own;
    claim_ahead: "and cardinality(p_queues) = 1" => "", ahead::each_queue_has_its_own_slots;
    claim_ahead: "and bool_and(jobkit.may_wait(j))" => "",
        ahead::what_may_not_wait_has_a_slot_or_goes_back;
    claim_ahead: "p_slots[q.number] - p_ahead[q.number]" => "p_slots[q.number]",
        ahead::each_queue_has_its_own_slots;
    claim_ahead: "partition by q.number " => "", ahead::each_queue_has_its_own_slots;
    may_wait: "and p_job.crashes = 0" => "",
        ahead::what_was_with_a_dead_worker_is_not_claimed_ahead;
    may_wait: "and p_job.attempt + 1 < p_job.max_attempts" => "",
        ahead::what_may_not_wait_has_a_slot_or_goes_back;
    may_wait: "and p_job.cancel_requested_at is null" => "",
        ahead::what_may_not_wait_has_a_slot_or_goes_back;
    may_wait: "p_job.concurrency_key is null and" => "", ahead::a_key_is_not_claimed_ahead;
    claim_ahead: "array_agg(j.id), j.held)" => "array_agg(j.id))",
        ahead::a_key_is_not_claimed_ahead;
    claim_ahead: "sum(b.size) over w <= 1024 * 1024" => "true", ahead::what_waits_has_a_bound;
    claim_ahead: "payload_size(j)) <= 1024 * 1024" => "payload_size(j)) is not null",
        ahead::what_waits_has_a_bound;
    claim_ahead: "order by j.priority, j.id" => "order by j.id desc",
        ahead::what_is_claimed_ahead_is_a_claim_of_its_own;
    claim_ahead: "and (noted or c.ahead)" => "and c.ahead",
        ahead::what_is_claimed_ahead_is_a_claim_of_its_own;
    claim_ahead: "and (noted or c.ahead)" => "", ahead::each_queue_has_its_own_slots;
    claim_ahead: "v_replays, c.ahead" => "v_replays, false",
        ahead::a_death_charges_nothing_that_may_not_have_begun;
    reap_claim: "if v_claim.ahead then" => "if false then",
        ahead::a_death_charges_nothing_that_may_not_have_begun;
    reap_claim: "crashes = j.crashes + 1" => "crashes = j.crashes",
        ahead::what_was_with_a_dead_worker_is_not_claimed_ahead;
    heartbeat: " and a.n <= p_begun" => "",
        ahead::a_death_charges_what_a_heartbeat_said_has_begun;
    heartbeat: "for update skip locked" => "for update",
        ahead::a_heartbeat_says_what_has_begun_beside_an_outcome;
    heartbeat: "set ahead = false" => "set ahead = true",
        ahead::a_death_charges_what_a_heartbeat_said_has_begun;
    pause_limit: "perform jobkit.recall();" => "", ahead::workers_hear_of_a_cancel_and_of_a_pause;
    cancel_mark: "perform jobkit.recall(v_marked.ids);" => "",
        ahead::workers_hear_of_a_cancel_and_of_a_pause;
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
    claim: "for update of f skip locked" => "for update of f",
        claim::two_claims_share_nothing;
    claim_above: "n.xmax = '0'" => "true" with
    claim_above: "n.job_id limit q.slots for update skip locked" =>
        "n.job_id limit q.slots for update",
        claim::two_claims_from_the_marks_share_nothing;
    claim_above: "m.xmax = '0'" => "true" with
    claim_above: "for update of m skip locked" => "for update of m",
        claim::two_claims_beside_the_marks_share_nothing;
    claim_above: "then -3" => "then -2",
        claim::a_claim_from_the_marks_finds_every_priority;
    claim_above: "then 3" => "then 2",
        claim::a_claim_from_the_marks_finds_every_priority;
    claim_above: "q.last / 2 - 2 end" => "q.last / 2 - 1 end",
        claim::a_claim_from_the_marks_finds_every_priority;
    claim_above: "q.first / 2 - 4 end" => "q.first / 2 - 5 end",
        claim::a_claim_from_the_marks_finds_every_priority;
    claim_above: "n.xmax = '0'" => "true",
        claim::what_a_claim_gave_up_is_found_from_the_start;
    claim_above: "m.xmax = '0'" => "true",
        claim::what_a_claim_gave_up_is_found_from_the_start;
    claim: "f.kind = any (p_kinds)" => "f.kind = any (p_kinds) and f.xmax = '0'",
        claim::what_a_claim_gave_up_is_found_from_the_start;
    for_worker: "j.cancel_requested_at is not null," => "false,",
        cancel::a_marked_job_is_handed_out_only_to_be_cancelled;
    // What it tells of those that became no job.
    claim_permits: "json_build_object('waiting'," => "json_build_object('none',",
        claim::a_claim_says_what_came_to_no_job;
    claim_within: "cardinality(v_ids) - count(*)" => "0",
        claim::a_claim_says_what_came_to_no_job;
    claim: concat!("count(*) filter (where j.unique_while is distinct from 'coalesce')\n",
        "            = cardinality(v_ids) and") => "",
        claim::a_claim_says_what_came_to_no_job;
    claim_permits: "(h.held is null)::integer" => "1",
        claim::a_claim_says_where_each_lane_begins;
    claim_permits: "min(p.id)" => "max(p.id)",
        claim::a_claim_says_where_each_lane_begins;
    claim_permits: "and h.held is null as needy" => "as needy",
        claim::a_claim_says_where_each_lane_begins;
    // What a claim reads.
    claim: "f.without_permit, f.job_id" => "f.without_permit, f.job_id + 0",
        plans::a_claim_reads_what_it_takes_of_ten_thousand;
    claim_above: "order by n.job_id limit" => "order by n.job_id + 0 limit",
        plans::a_claim_reads_what_it_takes_of_ten_thousand;
    claim_above: "n.queue = q.name and" => "n.queue || '' = q.name and",
        plans::a_claim_reads_what_it_takes_of_ten_thousand;
    claim_above: "order by m.priority," => "order by m.priority + 0,",
        plans::a_claim_reads_what_it_takes_of_ten_thousand;
    claim_above: "m.queue = q.name and" => "m.queue || '' = q.name and",
        plans::a_claim_reads_what_it_takes_of_ten_thousand;
    claim_above: "and n.job_id > p_marks" => "and n.job_id + 0 > p_marks",
        plans::a_marked_claim_passes_over_jobs_of_unknown_kinds;
    claim_above: "and n.job_id > p_marks" => "and n.job_id + 0 > p_marks",
        plans::a_marked_claim_passes_over_dead_entries_that_a_reader_pins;
    // … and what others read, by plans from when nothing was there.
    heartbeat: "SET enable_seqscan TO 'off'" => "",
        old_plans::a_call_for_one_job_looks_at_no_others;
    take_slot: "SET enable_seqscan TO 'off'" => "",
        old_plans::a_call_for_one_job_looks_at_no_others;
    complete: "SET enable_seqscan TO 'off'" => "",
        old_plans::a_call_for_one_job_looks_at_no_others;
    part: "SET enable_seqscan TO 'off'" => "",
        old_plans::a_call_for_one_job_looks_at_no_others;
    save_step: "SET enable_seqscan TO 'off'" => "",
        old_plans::a_call_for_one_job_looks_at_no_others;
    completion: "SET enable_seqscan TO 'off'" => "",
        old_plans::a_call_for_one_job_looks_at_no_others;
    // What a settle asks for.
    end_jobs: "greatest(least(v_now + i.keep, v_last), v_first)" =>
        "jobkit.expiry(v_now + i.keep)",
        plans::a_settle_looks_up_the_days_of_history_once_for_all_jobs;
    // Reapers.
    reap_workers: "where w.lease_until < clock_timestamp()" => "where true",
        reap::a_worker_with_a_lease_is_not_reaped;
    reap_workers: "and pg_postmaster_start_time()
                not between clock_timestamp() - w.lease and clock_timestamp() + w.lease" => "",
        reap::nobody_is_reaped_within_a_lease_of_the_servers_start;
    reap_workers: "and r.lease_until > clock_timestamp()" => "",
        clock::a_reaper_whose_lease_has_lapsed_reaps_nobody;
    heartbeat: "clock_timestamp() not between w.heartbeat_at and w.lease_until" =>
        "clock_timestamp() < w.heartbeat_at",
        clock::a_reaper_whose_lease_has_lapsed_reaps_nobody;
    // A clock that stepped back.
    heartbeat: "clock_timestamp() not between w.heartbeat_at and w.lease_until" =>
        "w.lease_until < clock_timestamp()",
        clock::who_dies_after_a_step_back_is_reaped;
    heartbeat: "l.lease_until > clock_timestamp() + l.lease" => "false",
        clock::who_was_dead_before_a_step_back_is_reaped_one_lease_after_it;
    heartbeat: "l.lease_until > clock_timestamp() + l.lease" => "false",
        clock::a_step_back_of_less_than_two_leases_costs_no_more_than_one;
    heartbeat: "set lease_until = clock_timestamp() + w.lease" =>
        "set lease_until = clock_timestamp() + w.lease / 2",
        clock::a_small_step_back_costs_no_living_worker_its_lease;
    heartbeat: "set lease_until = clock_timestamp() + w.lease" =>
        "set lease_until = clock_timestamp()" with
    reap_workers: "greatest(r.lease, w.lease)" => "r.lease",
        clock::a_worker_that_lives_outlives_a_step_back;
    reap_workers: "w.lease_until < clock_timestamp()" =>
        "(w.lease_until < clock_timestamp() or w.heartbeat_at > clock_timestamp())",
        clock::an_operator_judges_by_the_lease_alone;
    reap_workers: "w.lease_until < clock_timestamp()" =>
        "(w.lease_until < clock_timestamp() or w.heartbeat_at > clock_timestamp())",
        clock::a_reaper_that_has_not_beaten_since_a_step_back_reaps_nobody;
    reap_workers: "and r.steady_since + greatest(r.lease, w.lease) < clock_timestamp()" => "",
        clock::a_step_ahead_costs_no_living_worker_its_lease;
    heartbeat: "set lease_until = clock_timestamp() + w.lease" =>
        "set lease_until = clock_timestamp()",
        clock::a_small_step_back_costs_no_living_worker_its_lease;
    heartbeat: "clock_timestamp() + l.lease" => "clock_timestamp()",
        clock::a_beat_leaves_the_leases_of_others_as_they_are;
    heartbeat: "for no key update skip locked" => "for no key update",
        reap::a_beat_waits_for_no_other_worker;
    reap_workers: "greatest(r.lease, w.lease)" => "r.lease",
        clock::a_reaper_waits_for_the_longer_of_two_leases;
    reap_workers: "and r.steady_since + greatest(r.lease, w.lease) < clock_timestamp()" => "",
        clock::a_reaper_waits_for_the_longer_of_two_leases;
    reap_workers: "w.id for update skip locked" => "w.id for update",
        reap::a_heartbeat_in_flight_keeps_its_worker;
    reap_workers: "w.id for update skip locked" => "w.id for no key update skip locked",
        claim::a_claim_in_flight_keeps_its_worker;
    heartbeat: "case when lapsed then clock_timestamp() else w.steady_since end" =>
        "w.steady_since",
        reap::a_worker_reaps_others_once_its_own_lease_has_lasted;
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
    release_lost: "v_claim.n = any (p_suspect)" => "false",
        reap::a_job_lost_alone_uses_up_its_attempts;
    release_lost: "v_claim.n = any (p_suspect)" => "true",
        reap::a_job_lost_alone_uses_up_its_attempts;
    // Cancels and promotions.
    cancel_mark: "for no key update skip locked" => "for no key update",
        order::a_mark_and_the_end_of_the_same_jobs_do_not_deadlock;
    withdraw: "))
                for update skip locked" =>
        "))
                for update",
        cancel::a_claim_in_flight_is_not_waited_for_by_a_cancel;
    withdraw: "q.run_at = j.run_at and q.job_id = j.id for update skip locked" =>
        "q.run_at = j.run_at and q.job_id = j.id for update",
        cancel::a_promotion_in_flight_is_not_waited_for_by_a_cancel;
    promote: "limit p_limit for update skip locked\n            ))" =>
        "limit p_limit for update\n            ))",
        claim::two_promotions_share_nothing;
    // Isolation, producers, partitions.
    require_read_committed: "if current_setting" => "if false and current_setting",
        isolation::what_waits_and_then_reads_refuses_other_levels;
    insert_jobs: "return query" =>
        "perform from jobkit.workers for update; return query",
        producers::a_producer_waits_for_nobody;
    insert_jobs: "return query" =>
        "lock table jobkit.finished_days in exclusive mode; return query",
        producers::nobody_waits_for_a_producer;
    wake_due: "current_setting('transaction_isolation') <> 'serializable' and exists" => "exists",
        producers::delayed_enqueues_of_serializable_transactions_do_not_clash;
    finished_prepare: "lock table jobkit.finished_days in share row exclusive mode;" => "",
        prune::two_services_make_a_partition_once;
    finished_forget: " and d.day < (now() at time zone 'UTC')::date" => "",
        prune::a_day_in_use_is_neither_forgotten_nor_dropped;
    finished_drop: "and p_day < (select max(d.day) from jobkit.finished_days d)" => "",
        prune::a_day_in_use_is_neither_forgotten_nor_dropped;
    finished_expired: "else 'concurrently'" => "else ''",
        prune::a_reader_of_finished_stalls_the_pruner_but_no_outcome;
};
