//! Mutants of waiting for the end of a job.

use super::Mutant;
use crate::races::awaited;

pub(super) const MUTANTS: &[Mutant] = mutants! {
    end_jobs: "if v_awaited then" => "if false then", awaited::t180_an_end_behind_a_wait_tells;
    bury: "if p_job.awaited then" => "if false then", awaited::t180_an_end_behind_a_wait_tells;
    await_jobs: "for no key update skip locked" => "",
        awaited::t181_a_wait_beside_an_end_finds_it_held;
    await_jobs: "when j.awaited then 'live' when j.id is not null then 'held'" =>
        "when j.id is not null then 'live'",
        awaited::t181_a_wait_beside_an_end_finds_it_held;
};
