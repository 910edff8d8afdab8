//! Mutants of jobs that coalesce, and of those that run again.

use super::Mutant;
use crate::races::{
    coalesce, coalesce_ends, unique_again, unique_follow, unique_last, unique_late, unique_marked,
};

pub(super) const MUTANTS: &[Mutant] = mutants! {
    // What a claim sees of a key.
    coalesce_seen: "and j.known and" => "and",
        coalesce::a_newest_one_that_a_worker_does_not_know_is_left_to_others;
    coalesce_seen: " and not j.any_more" => "", coalesce::many_of_a_key_end_in_bounded_claims;
    coalesce_seen: "and j.cancel_requested_at is null\n                and (j.run_at" =>
        "and (j.run_at", coalesce::a_cancelled_one_takes_nobody_along;
    coalesce_seen: "and j.cancel_requested_at is null\n            and (j.concurrency_key" =>
        "and (j.concurrency_key", coalesce::a_cancelled_one_takes_nobody_along;
    coalesce_seen: "j.run_at <= v_now or j.attempt + j.snoozes > 0 or" => "true or",
        coalesce::what_is_due_coalesces_and_what_is_not_waits;
    coalesce_seen: "j.run_at <= v_now or j.attempt + j.snoozes > 0" => "j.run_at <= v_now",
        coalesce::what_is_due_coalesces_and_what_is_not_waits;
    coalesce_seen: " or p.place <> 'scheduled')" => ")",
        coalesce::what_waited_before_a_step_back_coalesces;
    coalesce_seen: "p.place <> 'scheduled' or j.run_at <= v_now as" => "j.run_at <= v_now as",
        coalesce::what_waited_before_a_step_back_coalesces;
    coalesce_seen: "and j.queue = k.queue" => "", coalesce::queues_and_concurrency_keys_are_apart;
    coalesce_seen: concat!("k.queue\n",
        "                and (j.concurrency_group, j.concurrency_key)\n",
        "                    is not distinct from (k.concurrency_group, k.concurrency_key)") =>
        "k.queue", coalesce::queues_and_concurrency_keys_are_apart;
    // What it does with that.
    coalesce_picked: "j.id = any (v_seen.older) for update skip locked" =>
        "j.id = any (v_seen.older)", coalesce::a_claim_beside_a_retry_begins_nothing_newer;
    coalesce_picked: "j.id = any (v_seen.older) for update skip locked" =>
        "j.id = any (v_seen.older) for update",
        coalesce::a_cancelled_one_takes_nobody_along;
    coalesce_picked: "o.newest = n.id and" => "false and",
        coalesce::two_claims_never_begin_an_older_one_beside_a_newer;
    coalesce_picked: "o.newest = n.id and" => "false and",
        coalesce::a_claim_beside_a_retry_begins_nothing_newer;
    coalesce_picked: "where j.id = any (v_now.told) and" => "where false and",
        coalesce::what_runs_does_not_run_again_after_a_newer_one;
    coalesce_picked: "where h.locked and h.here) as ended" => "where h.locked) as ended",
        coalesce::two_claims_never_begin_an_older_one_beside_a_newer;
    coalesce_take: "and q.job_id = j.id\n                for update skip locked" =>
        "and q.job_id = j.id\n                for update",
        coalesce::two_claims_never_begin_an_older_one_beside_a_newer;
    coalesce_take: "q.run_at = j.run_at and q.job_id = j.id for update skip locked" =>
        "q.run_at = j.run_at and q.job_id = j.id for update",
        coalesce::what_is_due_coalesces_and_what_is_not_waits;
    claim: "filter (where j.unique_while is distinct from 'coalesce')" => "",
        coalesce::of_those_that_wait_the_newest_begins;
    claim_permits: "perform jobkit.coalesce_blocked(v_denied)" => "perform 1",
        coalesce::blocked_ones_coalesce_behind_a_running_one;
    may_wait: "and p_job.unique_while is distinct from 'coalesce'" => "",
        coalesce::none_is_claimed_ahead;
    settle_one: "v_by := p_job.coalesced_by" => "v_by := null",
        coalesce::what_runs_does_not_run_again_after_a_newer_one;
    crash: "v_by := p_job.coalesced_by" => "v_by := null",
        coalesce::what_runs_does_not_run_again_after_a_newer_one;
    bury: "if p_job.unique_while = 'coalesce' then" => "if false then",
        coalesce::a_dead_letter_coalesces_no_more;
    coalesce_picked: "put_back := v_back <> '{}'" => "put_back := false",
        coalesce_ends::t173_what_goes_back_is_looked_for_again_soon;
    coalesce_blocked: "and j.cancel_requested_at is null\n            and exists (" =>
        "and j.cancel_requested_at is null\n            and (true or exists (" with
    coalesce_blocked: "b.job_id = j.id\n            )\n    )" =>
        "b.job_id = j.id\n            ))\n    )",
        coalesce_ends::t174_a_claim_that_gives_up_on_a_key_ends_nothing_of_it;
    coalesce_blocked: "b.job_id < b.newest)\n        for update skip locked" =>
        "b.job_id < b.newest)",
        coalesce_ends::a_blocked_one_in_hand_is_left_for_the_next_claim;
    coalesce_end: "coalesce(k.retention_discarded, k.retention)" => "k.retention",
        coalesce_ends::what_ends_is_kept_as_long_as_what_is_discarded;
    coalesce_end: "coalesce(k.retention_discarded, k.retention)" => "k.retention_discarded",
        coalesce_ends::what_ends_is_kept_as_long_as_what_is_discarded;
    // What runs again.
    take_last: "        for no key update;" => ";",
        unique_again::a_change_behind_a_cancel_of_the_one_that_follows_is_not_lost;
    take_last: "u.job_id = p_holder for update" => "u.job_id = p_holder",
        unique_again::of_two_that_would_follow_one_does;
    take_last: "u.job_id = p_holder for update" => "u.job_id = p_holder",
        unique_last::a_newer_payload_waits_for_the_one_that_follows;
    take_last: "<> p_state" => "is null",
        unique_last::a_newer_payload_looks_again_where_its_job_has_ended;
    take_last: "if v_kind = p_kind and" => "if v_kind = p_kind and p_state <> 'waits' and",
        unique_last::while_one_follows_that_one_is_changed;
    take_last: "and (p_late or p_on_duplicate <> 'debounce' or p_state = 'ends')" => "",
        unique_last::while_one_follows_that_one_is_changed;
    take_last: "(p_late or p_state <> 'waits' or j.kind = p_kind)" => "true",
        unique_last::while_one_of_another_kind_follows_the_job_is_changed;
    take_last: "case when p_changeable" => "case when true",
        unique_last::one_that_follows_a_replay_is_changed;
    take_last: "case when jobkit.hold_waiting(job_id, true) then 'existing' end" => "'existing'",
        unique_last::one_that_follows_a_replay_is_changed;
    take_last: "if p_state <> 'waits' or p_late or exists (" =>
        "if p_on_duplicate <> 'debounce' and p_state <> 'waits' or p_on_duplicate <> 'debounce'
            and exists (",
        unique_last::a_second_change_in_a_transaction_waits_for_none_that_waits_for_the_first;
    take_last: "if p_state <> 'waits' or p_late or exists (" => "if true or exists (",
        unique_last::a_retry_waits_for_no_change_of_the_job_that_has_its_key;
    take_last: "v_kind = p_kind" => "true", unique_again::while_a_job_waits_it_is_changed;
    take_last: "            and j.cancel_requested_at is null\n" => "",
        unique_again::one_that_is_cancelled_does_not_follow;
    free_keys: "if v_followed.followers is not null then" => "if false then",
        unique_again::whatever_ends_a_job_lets_one_run_again;
    follow: ") for no key update skip locked" => ") for no key update",
        unique_again::one_that_is_cancelled_does_not_follow;
    sweep_begin: "perform jobkit.follow_left(10000)" => "perform 1",
        unique_again::an_end_behind_an_open_duplicate_lets_it_run_soon;
    follow_left: "and u.job_id > (select s.followed_to from jobkit.sweeps s)" => "",
        unique_again::t171_those_that_follow_are_looked_through_some_at_a_time;
    follow_left: "then max(k.job_id) else 0 end" => "then max(k.job_id) end",
        unique_again::t171_those_that_follow_are_looked_through_some_at_a_time;
    follow_left: "set followed_to = v_last;" => "set followed_to = 0;",
        unique_again::t171_one_that_fails_holds_up_none_behind_it;
    follow_left: "for update of k skip locked" => "for update of k",
        unique_again::a_duplicate_finds_one_whose_turn_came_unnoticed;
    take_over: "if v_follower is null then" => "if true then",
        unique_again::a_duplicate_finds_one_whose_turn_came_unnoticed;
    prune_keys: "and k.follower_id is null" => "",
        unique_again::a_duplicate_finds_one_whose_turn_came_unnoticed;
    reschedule: "j.run_at <> jobkit.parked()" => "true",
        unique_again::one_that_follows_is_not_rescheduled;
    enqueue_by_key: "j.due_since > coalesce(v_asked, v_now)" => "false",
        unique_follow::the_soonest_says_when_one_that_follows_runs;
    enqueue_by_key: "j.due_since > coalesce(v_asked, v_now)" => "true",
        unique_follow::the_soonest_says_when_one_that_follows_runs;
    insert_jobs: "where p_ids is null or q.id is not null" => "where true",
        unique_follow::a_duplicate_in_a_full_queue_refuses_no_batch;
    // What is late, and what is marked as cancelled.
    key_holder: "interval '5 seconds'" => "interval '1 hour'",
        unique_late::t261_what_comes_late_follows_and_holds_nothing;
    key_holder: "interval '5 seconds'" => "interval '0'",
        unique_late::a_job_whose_turn_has_not_come_is_held;
    next_of_kind: "n.kind = p_kind and n.held = '0'" => "false",
        unique_late::a_job_whose_turn_has_not_come_is_held;
    next_of_kind: "exists (select from jobkit.serving(p_queue, p_kind))" => "true",
        unique_late::a_job_whose_turn_has_not_come_is_held;
    key_holder: "coalesce(j.due_since, j.run_at)" => "j.run_at",
        unique_late::t263_a_late_job_in_other_hands_is_not_waited_for;
    key_holder: "h.place = 'ready' or h.place = 'scheduled' and j.run_at" =>
        "h.place in ('ready', 'scheduled') and j.run_at",
        unique_late::t267_after_a_step_back_of_the_clock_nobody_holds_a_job;
    key_holder: "not between clock_timestamp() - interval '5 seconds' and clock_timestamp()" =>
        "< clock_timestamp() - interval '5 seconds'",
        unique_late::t267_after_a_step_back_of_the_clock_nobody_holds_a_job;
    put_back: "then least(j.due_since, j.run_at) end" => "then null::timestamptz end",
        unique_late::t263_a_late_job_in_other_hands_is_not_waited_for;
    settle_one: "run_at = v_run_at, due_since = null" => "run_at = v_run_at",
        unique_late::a_later_attempt_is_late_by_its_own_time;
    crash: "run_at = v_run_at, due_since = null" => "run_at = v_run_at",
        unique_late::a_later_attempt_is_late_by_its_own_time;
    reschedule: "run_at = v_run_at, due_since = null" => "run_at = v_run_at",
        unique_late::a_later_attempt_is_late_by_its_own_time;
    follow: "greatest(j.due_since, v_now)" => "v_now",
        unique_follow::one_that_follows_keeps_the_time_it_was_asked_for;
    enqueue_by_key: "v_met.answer in ('parked', 'repeated')" => "v_met.answer = 'parked'",
        unique_follow::the_newest_says_when_one_that_follows_runs;
    enqueue_by_key: "p_bounded => v_met.answer = 'enqueued'" => "p_bounded => true",
        unique_follow::one_that_follows_is_let_into_a_full_queue;
    take_last: "between clock_timestamp() - interval '1 second' and" =>
        "> clock_timestamp() + interval '1 second' and clock_timestamp() <=",
        unique_late::t263_a_late_job_in_other_hands_is_not_waited_for;
    take_last: "between clock_timestamp() - interval '1 second' and" =>
        "< clock_timestamp() + interval '1 second' and clock_timestamp() <=",
        unique_late::t263_a_late_job_that_nobody_has_is_changed;
    take_last: "between clock_timestamp() - interval '1 second' and" =>
        "> clock_timestamp() - interval '1 second' and clock_timestamp() <=",
        unique_late::t267_after_a_step_back_of_the_clock_nobody_holds_a_job;
    take_last: "jobkit.take_waiting(p_holder, false)" => "jobkit.take_waiting(p_holder, true)",
        unique_late::t263_a_late_job_in_other_hands_is_not_waited_for;
    take_last: ") for share of u" => ")",
        unique_late::t262_those_that_skip_hold_the_one_that_follows_together;
    take_last: ") for share of u" => ") for update of u",
        unique_late::t262_those_that_skip_hold_the_one_that_follows_together;
    take_last: "p_state = 'waits' and v_holder.kept" => "false",
        unique_late::t264_where_none_may_follow_a_late_job_is_not_held;
    follow_left: "(jobkit.key_holder(u.scope, u.key)).state <> 'free'" => "true",
        unique_late::a_job_that_had_its_key_while_queued_is_followed_once_it_runs;
    retake_key: "if v_holder.state in ('free', 'ends') then" =>
        "if v_holder.job_id <> p_job and v_holder.state in ('free', 'ends') then",
        unique_late::t261_an_end_behind_a_late_duplicate_lets_it_run_soon;
    cancel_mark: "and m.id = any (v_waiting)" => "",
        unique_marked::t265_a_cancelled_job_that_runs_hands_its_key_on_when_it_ends;
    stay_waiting: "r.job_id = j.id\n            for update skip locked" => "r.job_id = j.id",
        unique_marked::t265_a_cancel_beside_a_claim_lets_none_run_beside_it;
    key_holder: "when j.cancel_requested_at is not null then 'ends'" => "",
        unique_marked::t265_a_cancelled_job_that_runs_hands_its_key_on_when_it_ends;
    key_holder: "when j.cancel_requested_at is not null then 'ends'" =>
        "when j.cancel_requested_at is not null then 'free'",
        unique_marked::t265_a_cancelled_job_that_runs_hands_its_key_on_when_it_ends;
    retake_key: "if v_holder.state = 'ends' and" => "if false and",
        unique_marked::a_retry_whose_key_is_of_a_cancelled_job_is_put_off;
    follow: "not l.later then f.until" => "false then f.until",
        unique_marked::t265_a_cancelled_job_that_runs_hands_its_key_on_when_it_ends;
    key_holder: "and not w.kept then 'yields'" => "then 'yields'",
        unique_marked::what_unique_for_keeps_it_keeps_through_a_retry;
    // Rows that say what is not so.
    key_holder: "j.id = u.job_id and j.unique_scope = u.scope and j.unique_key = u.key" =>
        "j.id = u.job_id", unique_marked::t266_a_row_that_says_another_job_changes_nothing_of_it;
    follow: " and (j.id, j.unique_scope, j.unique_key) in (" => " and (j.id, 'act', 'k') in (",
        unique_marked::t266_a_row_that_says_who_follows_changes_nothing_of_that_one;
    take_last: "j.id = v_follower and j.unique_scope = p_scope and j.unique_key = p_key" =>
        "j.id = v_follower",
        unique_marked::t266_a_row_that_says_who_follows_changes_nothing_of_that_one;
    key_holder: "w.kept and u.job_id > 0" => "w.kept",
        unique_marked::t266_a_row_of_no_job_holds_nothing;
    key_holder: "and u.held_until < clock_timestamp() + interval '367 days'" => "",
        unique_marked::t266_a_row_of_no_job_holds_nothing;
};
