//! Mutants of unique keys.

use super::Mutant;
use crate::plans;
use crate::races::{elsewhere, unique, unique_bulk, unique_ends};

pub(super) const MUTANTS: &[Mutant] = mutants! {
    // What a producer holds.
    hold_waiting: "r.job_id = p_job for key share;" => "r.job_id = p_job;",
        unique::a_duplicate_keeps_the_job_it_found_where_it_waits;
    hold_waiting: "s.job_id = p_job\n            for key share;" => "s.job_id = p_job;",
        unique::a_duplicate_keeps_the_job_it_found_where_it_waits;
    hold_waiting: "r.job_id = p_job for key share;" => "r.job_id = p_job for update;",
        unique::a_duplicate_keeps_the_job_it_found_where_it_waits;
    hold_waiting: "r.job_id = p_job for key share skip locked;" =>
        "r.job_id = p_job for key share;",
        unique_bulk::a_bulk_enqueue_gives_back_what_it_took_before_it_waits;
    take_key: "v_holder.kind = p_kind" => "true", unique::a_job_of_another_kind_is_not_changed;
    take_key: "v_holder.changeable" => "true",
        unique_ends::a_replay_that_clashes_says_with_which_job;
    take_last: "case when jobkit.take_waiting(job_id, true) then 'replaced' end" => "'replaced'",
        unique::t122_a_replacement_behind_a_claim_changes_no_running_job;
    take_key: "jobkit.hold_waiting(job_id, p_wait)" => "true",
        unique::t87_an_enqueue_behind_a_claim_is_told_what_the_claim_decides;
    enqueue_by_key: "order by u.scope collate \"C\", u.key collate \"C\", u.at" => "order by u.at",
        unique_bulk::a_bulk_enqueue_gives_back_what_it_took_before_it_waits;
    take_waiting: " and j.cancel_requested_at is null" => "",
        unique::a_job_that_is_cancelled_while_it_is_waited_for_is_not_replaced;
    enqueue_unique: "SET enable_seqscan TO 'off'" => "",
        plans::keys_are_looked_up_one_by_one_however_few_there_were;
    take_free_keys: " and k.job_id = n.job" => "",
        unique_bulk::duplicates_within_one_call_find_the_first;
    // Who takes a key over.
    take_over: "u.job_id = p_old for update" => "u.job_id = p_old",
        unique_ends::of_two_that_take_a_key_over_one_waits;
    take_over: "v_state not in ('free', 'yields')" => "false",
        unique_ends::a_key_is_looked_at_again_by_whoever_takes_it_over;
    take_over: "not jobkit.take_waiting(p_old, true)" => "false",
        unique_ends::a_job_that_waits_for_another_attempt_yields;
    retake_key: "do update set job_id = u.job_id" => "do nothing",
        unique_ends::an_enqueue_behind_a_retry_is_told_of_the_job_that_waits_again;
    retake_key: "v_holder.state <> 'free'" => "false",
        unique_ends::a_retry_that_finds_its_key_taken_ends_as_superseded;
    retake_key: "SET lock_timeout TO '1ms'" => "SET lock_timeout TO '2min'",
        unique_ends::a_retry_behind_an_open_enqueue_of_its_key_is_put_off;
    settle_one: "v_by := jobkit.retake_key(p_job.unique_scope, p_job.unique_key, p_job.id)" =>
        "v_by := null",
        unique_ends::a_retry_that_finds_its_key_taken_ends_as_superseded;
    crash: "v_by := jobkit.retake_key(p_job.unique_scope, p_job.unique_key, p_job.id)" =>
        "v_by := null",
        unique_ends::a_crash_whose_key_is_taken_ends_as_superseded;
    crash: "v_by := jobkit.retake_key(p_job.unique_scope, p_job.unique_key, p_job.id)" =>
        "v_by := null",
        elsewhere::t163_a_dead_worker_s_job_whose_key_was_taken_strands_no_other;
    settle_one: "v_by := jobkit.retake_key(p_job.unique_scope, p_job.unique_key, p_job.id)" =>
        "v_by := null",
        elsewhere::t164_a_recurring_job_that_fails_beside_the_next_needs_no_hand;
    // Who frees one.
    free_keys: "for update skip locked" => "for update",
        unique_ends::an_end_behind_an_open_enqueue_of_its_key_waits_for_nobody;
    free_keys: " and k.job_id = e.job" => "", unique_ends::a_late_end_frees_no_other_key;
    free_keys: "SET enable_seqscan TO 'off'" => "",
        plans::keys_are_looked_up_one_by_one_however_few_there_were;
    free_keys: "not p_kept or" => "",
        unique_ends::t123_an_end_frees_a_key_and_a_dead_job_holds_none;
    end_jobs: "if v_unique is not null then" => "if false then",
        unique_ends::t123_an_end_frees_a_key_and_a_dead_job_holds_none;
    end_jobs: "if v_unique is not null then" => "if false then",
        elsewhere::t160_no_key_is_held_by_a_job_that_is_gone;
    bury: "if p_job.unique_key is not null then" => "if false then",
        unique_ends::t123_an_end_frees_a_key_and_a_dead_job_holds_none;
    cancel_mark: "if array_remove(v_marked.keys, null) <> '{}' then" => "if false then",
        unique::a_cancel_frees_a_key_in_its_transaction;
    prune_keys: "skip locked" => "", unique_ends::what_was_left_behind_is_in_nobodys_way;
    prune_keys: "not exists (select from jobkit.jobs j where j.id = k.job_id offset 0)" => "true",
        unique_ends::what_was_left_behind_is_in_nobodys_way;
    // Replays.
    replay: "if v_entry.unique_key is not null then" => "if false then",
        unique_ends::a_replay_that_clashes_says_with_which_job;
    replay_due: "v_ids := jobkit.without_clash(v_due)" => "v_ids := v_due",
        unique_ends::a_replay_that_clashes_says_with_which_job;
    take_dead_letters: "v_taken := jobkit.without_clash(v_taken)" => "null",
        unique_ends::a_replay_that_clashes_says_with_which_job;
    replay_open: "and u.job_id = d.job_id" => "and false",
        unique_ends::a_replay_that_clashes_says_with_which_job;
};
