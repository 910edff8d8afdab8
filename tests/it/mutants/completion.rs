//! Mutants of completions in the transaction of a handler.

use super::Mutant;
use crate::races::completion;

pub(super) const MUTANTS: &[Mutant] = mutants! {
    part: "if cardinality(v_claim.job_ids) = 1 then" => "if true then",
        completion::t210_batch_mates_do_not_wait_for_a_transaction_left_open;
    part: "any (c.job_ids) for update" => "any (c.job_ids)",
        completion::t211_a_job_is_moved_beside_an_outcome_of_its_batch;
    part: "if cardinality(v_claim.job_ids) = 1 then" => "if false then",
        completion::t211_a_job_is_moved_beside_an_outcome_of_its_batch;
    part: "c.n = p_own" => "false",
        completion::t211_a_move_that_is_repeated_finds_the_job_moved;
    part: "v_claim.keyed and exists" => "false and exists",
        completion::t217_nobody_of_the_key_waits_and_the_permit_is_freed_after_the_commit;
    complete: "any (c.job_ids) for update" => "any (c.job_ids)",
        completion::t212_a_completion_behind_a_reap_is_lost;
    complete: "any (c.job_ids) for update" => "any (c.job_ids)",
        completion::t213_a_reaper_passes_over_an_open_completion;
    complete: "any (c.job_ids) for update" => "any (c.job_ids)",
        completion::t214_a_completion_behind_an_outcome_is_lost;
    complete: "where c.worker_id = p_worker and c.n = p_n and p_job = any (c.job_ids)" =>
        "where p_job = any (c.job_ids)",
        completion::t212_a_stale_attempt_completes_nothing;
    complete: "where j.id = p_job for update" => "where j.id = p_job",
        completion::t215_a_completion_behind_a_cancel_is_refused;
    complete: "if v_job.cancel_requested_at is not null then" => "if false then",
        completion::t215_a_completion_behind_a_cancel_is_refused;
    complete: "if not exists (select from jobkit.permits p where p.job_id = p_job) then" =>
        "if true then",
        completion::t217_nobody_of_the_key_waits_and_the_permit_is_freed_after_the_commit;
    complete: "if not exists (select from jobkit.permits p where p.job_id = p_job) then" =>
        "perform jobkit.signal(array[p_job]); if true then",
        completion::t217_nobody_of_the_key_waits_and_the_permit_is_freed_after_the_commit;
    complete: "perform jobkit.require_read_committed();" =>
        "perform jobkit.decide_lock();",
        completion::t210_batch_mates_do_not_wait_for_a_transaction_left_open;
    completion: " skip locked" => "",
        completion::t216_a_look_waits_for_nobody_and_tells_how_it_ended;
    completion: "\n    for key share skip locked" => "",
        completion::t216_a_look_waits_for_nobody_and_tells_how_it_ended;
    completion: "exists (select from jobkit.jobs j where j.id = p_job)" => "true",
        completion::t216_a_look_waits_for_nobody_and_tells_how_it_ended;
    completion: "exists (select from jobkit.workers w where w.id = p_worker)" => "true",
        completion::t216_a_look_waits_for_nobody_and_tells_how_it_ended;
    complete: "perform jobkit.require_read_committed();" => "",
        completion::completions_refuse_other_levels;
    part: "perform jobkit.require_read_committed();" => "",
        completion::completions_refuse_other_levels;
    completion: "perform jobkit.require_read_committed();" => "",
        completion::completions_refuse_other_levels;
};
