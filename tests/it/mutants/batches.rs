//! Mutants of batches.

use super::Mutant;
use crate::races::batches;

pub(super) const MUTANTS: &[Mutant] = mutants! {
    end_jobs: "perform jobkit.leave_batches(v_batches, p_outcome);" => "",
        batches::two_last_ends_do_not_wait_and_the_batch_ends_after_both;
    join_batch: " for key share" => "",
        batches::a_batch_does_not_end_while_somebody_adds_to_it;
    join_batch: "for key share" => "for key share nowait",
        batches::who_joins_waits_for_the_look_that_ends_the_batch;
    join_batch: " and b.ended_at is null" => "",
        batches::who_joins_waits_for_the_look_that_ends_the_batch;
    end_batch: "for update skip locked" => "for update",
        batches::a_batch_does_not_end_while_somebody_adds_to_it;
    end_batch: "for update skip locked" => "for no key update skip locked",
        batches::a_batch_does_not_end_while_somebody_adds_to_it;
    end_batch: "and not exists (select from jobkit.jobs j where j.batch_id = p_batch)" => "",
        batches::a_look_sees_what_was_added_before_it_locks;
    look_at_batches: "values (v_batch, 'look', 0)" => "values (0, 'look', 0)",
        batches::a_batch_does_not_end_while_somebody_adds_to_it;
    wake_callbacks: "for no key update skip locked" => "for no key update",
        batches::a_look_passes_over_a_callback_that_is_being_cancelled;
    wake_callbacks: "cardinality(v_locked) < cardinality(v_waiting)" => "false",
        batches::a_look_passes_over_a_callback_that_is_being_cancelled;
    close_batch: "values (p_batch, 'look', 0)" => "values (0, 'look', 0)",
        batches::a_close_counts_from_its_commit;
    cancel_batch: "and b.ended_at is null for update" => "and b.ended_at is null for no key update",
        batches::a_cancel_waits_for_who_adds;
    bury: "perform jobkit.hold_batch(p_job, v_new.id);" => "",
        batches::a_discard_that_is_not_committed_keeps_the_batch_open;
    discard_dead_letter: "perform jobkit.release_held(array[p_id], 'discard');" => "",
        batches::a_discard_that_is_not_committed_keeps_the_batch_open;
};
