//! Mutants of checkpoints and reports.

use super::Mutant;
use crate::races::reports;

pub(super) const MUTANTS: &[Mutant] = mutants! {
    save_step: " for no key update" => "",
        reports::a_checkpoint_behind_an_outcome_is_lost;
    save_step: " for no key update" => "",
        reports::a_checkpoint_behind_a_reap_is_lost;
    save_step: " for no key update" => "",
        reports::an_outcome_behind_a_checkpoint_counts;
    save_step: " and p_job = any (c.job_ids)" => "",
        reports::a_checkpoint_behind_an_outcome_is_lost;
    save_step: "c.worker_id = p_worker and c.n = p_n and " => "",
        reports::a_stale_attempt_overwrites_no_newer_checkpoint;
    prune_steps: "j.id = e.job_id offset 0" => "false",
        reports::a_checkpoint_goes_with_its_job_and_not_before;
    report: "and not exists (select from jobkit.jobs j where j.id = k.job_id)" => "",
        reports::a_checkpoint_goes_with_its_job_and_not_before;
    report: "where r.worker_id = excluded.worker_id or r.began_at < excluded.began_at" => "",
        reports::of_two_runs_of_an_attempt_the_later_one_is_shown;
    report: "r.worker_id = excluded.worker_id or r.began_at" => "r.began_at",
        reports::of_two_runs_of_an_attempt_the_later_one_is_shown;
    report: "distinct on (i.job, i.attempt)" => "",
        reports::of_two_runs_of_an_attempt_the_later_one_is_shown;
};
