//! Mutants of dead letters and their replays, and of jobs left without attempts.

use super::Mutant;
use crate::races::{dead_letters, recovery};

pub(super) const MUTANTS: &[Mutant] = mutants! {
    // One for each kind and key, with its history.
    bury: "callback_of = excluded.callback_of" => "callback_of = excluded.callback_of where false",
        dead_letters::t50_two_failures_of_a_key_make_one_dead_letter;
    bury: "args = excluded.args," => "args = d.args,",
        dead_letters::t50_two_failures_of_a_key_make_one_dead_letter;
    bury: "attempts = d.attempts + excluded.attempts" => "attempts = excluded.attempts",
        dead_letters::t50_two_failures_of_a_key_make_one_dead_letter;
    bury: "p_job.kind,\n        p_job.dead_letter_key" => "'any',\n        p_job.dead_letter_key",
        dead_letters::t58_a_key_is_one_for_each_kind;
    bury: "cycles = d.cycles + 1" => "cycles = 1",
        dead_letters::t51_a_failure_behind_a_success_keeps_the_history;
    bury: "do update set state = 'open'" => "do update set state = d.state",
        dead_letters::t51_a_failure_behind_a_success_keeps_the_history;
    bury: "generation = d.generation + 1" => "generation = d.generation",
        dead_letters::an_old_replay_resolves_nothing;
    bury: "jobkit.newest_errors(d.errors || excluded.errors)" => "excluded.errors",
        dead_letters::t61_a_replay_that_fails_keeps_the_identity_of_its_dead_letter;
    bury: "then p_job.dead_letter_id end" => "then null::bigint end",
        dead_letters::t61_a_replay_that_fails_keeps_the_identity_of_its_dead_letter;
    bury: "case when p_job.dead_letter_key is null then p_job.dead_letter_id end" =>
        "p_job.dead_letter_id",
        dead_letters::a_replay_of_what_was_purged_resolves_nothing;
    bury: "d.cycles + 1 < v_kind.max_cycles" => "d.cycles < v_kind.max_cycles",
        dead_letters::t52_ten_failed_replays_are_ten_cycles_of_one_dead_letter;
    settle_others: "order by j.kind, j.dead_letter_key, j.dead_letter_id, o.job" =>
        "order by o.job",
        dead_letters::batches_that_bury_the_same_keys_in_opposite_order_do_not_deadlock;
    settle_others: "order by j.kind, j.dead_letter_key, j.dead_letter_id, o.job" =>
        "order by o.job",
        dead_letters::a_resolve_and_a_bury_in_opposite_order_do_not_deadlock;
    // Replayed once.
    replay: "where d.id = p_id for update" => "where d.id = p_id",
        dead_letters::t40_the_second_replay_waits_and_is_told_of_the_first;
    replay: "where d.id = p_id for update" => "where d.id = p_id",
        dead_letters::t124_a_replay_behind_the_success_of_the_first_is_refused;
    replay: "elsif v_entry.state <> 'open' then" => "elsif v_entry.state = 'resolved' then",
        dead_letters::t40_the_second_replay_waits_and_is_told_of_the_first;
    take_dead_letters: "for update skip locked" => "for update",
        dead_letters::t42_a_bulk_replay_passes_over_what_is_being_replayed;
    take_dead_letters: "for update skip locked" => "",
        dead_letters::t43_two_bulk_replays_share_nothing;
    take_dead_letters: "and d.failed_at <= p_until" => "",
        dead_letters::a_bulk_replay_spares_what_failed_after_it_began;
    replay_due: "for update skip locked" => "for update",
        recovery::an_automatic_replay_passes_over_what_is_being_replayed;
    replay_due: "for update skip locked" => "",
        recovery::an_automatic_replay_passes_over_what_is_being_replayed;
    replay_due: "d.replay_at <= v_now" => "true",
        recovery::t53_a_dead_letter_replays_itself_when_its_time_has_come;
    replay_open: "replay_id = e.new_id, replay_at = null" => "replay_id = e.new_id",
        recovery::t53_a_dead_letter_replays_itself_when_its_time_has_come;
    // Resolved by success, open after every other end.
    finish: "and d.generation = p_job.generation" => "",
        dead_letters::an_old_replay_resolves_nothing;
    finish: "and d.generation = p_job.generation" => "" with
    finish: "and d.state = 'replaying'" => "",
        dead_letters::t51_a_success_behind_a_failure_resolves_nothing;
    finish: "d.generation + (not v_success)::integer" => "d.generation",
        dead_letters::a_replay_that_is_cancelled_leaves_the_dead_letter_open;
    finish: "where d.id = p_job.dead_letter_id" =>
        "where v_success and d.id = p_job.dead_letter_id",
        dead_letters::a_replay_that_is_cancelled_leaves_the_dead_letter_open;
    settle: "c.keyed, c.replays into" => "c.keyed, false into",
        dead_letters::t124_a_replay_behind_the_success_of_the_first_is_refused;
    settle: "c.job_ids = p.job" => "false" with
    settle_partial: "coalesce(bool_or(s.replays), false)" => "false",
        dead_letters::t124_a_replay_behind_the_success_of_the_first_is_refused;
    // Removed only while nothing replays it.
    discard_dead_letter: "where d.id = p_id for update" => "where d.id = p_id",
        dead_letters::t46_a_replay_behind_a_discard_finds_nothing;
    discard_dead_letter: "elsif v_entry.state = 'replaying' then" => "elsif false then",
        dead_letters::t46_a_replay_behind_a_discard_finds_nothing;
    take_dead_letters: "for update skip locked" => "for update",
        dead_letters::t45_a_purge_passes_over_what_is_being_replayed;
    take_dead_letters: "for update skip locked" => "",
        dead_letters::a_purge_spares_what_failed_again;
    prune_resolved: "for update skip locked" => "",
        dead_letters::a_prune_spares_what_failed_again;
    prune_resolved: "l.resolved_at < clock_timestamp() - p_keep" => "true",
        dead_letters::a_prune_spares_what_failed_again;
    // Without an attempt left it is buried, as it is.
    settle_one: "p_job.attempt >= p_job.max_attempts" => "false",
        recovery::t55_all_exhausted_jobs_are_moved_whatever_their_number;
    settle_one: "p_job.attempt >= p_job.max_attempts" => "true",
        recovery::a_job_whose_attempts_were_raised_since_its_claim_goes_on;
    settle_one: "p_job, p_job.attempt, 'exhausted'" => "p_job, v_attempt, 'exhausted'",
        recovery::t54_a_job_without_attempts_is_buried_once;
    settle_one: "order by a.attempt desc limit 1" => "order by a.attempt limit 1",
        recovery::t57_a_job_without_queue_mates_or_lineage_is_moved;
};
