//! Mutants of pauses, limits and rates of queues and kinds.

use super::Mutant;
use crate::races::{brakes, pause};

/// How an operator's change waits for the claims under way.
const GATE: &str = "lock table jobkit.queues in exclusive mode;";

pub(super) const MUTANTS: &[Mutant] = mutants! {
    // Pauses.
    claim: "perform jobkit.decide_lock();" => "",
        brakes::t93_a_pause_of_a_kind_waits_for_claims_in_flight;
    claim: "perform jobkit.decide_lock();" => "" with
    claim: "if not v_plain or" => "perform jobkit.decide_lock(); if not v_plain or",
        brakes::t93_a_claim_behind_a_pause_of_a_kind_takes_none_of_it;
    claim: "exists (select from jobkit.brakes)" => "false",
        brakes::t93_a_claim_behind_a_pause_of_everything_takes_nothing;
    claim: "where q.paused_at is not null" => "where false",
        pause::t93_a_claim_behind_a_pause_takes_nothing;
    pause_scope: GATE => "", brakes::t93_a_pause_of_a_kind_waits_for_claims_in_flight;
    claim_braked: "having bool_or(b.scope = 'all') is not true" => "having true",
        brakes::t93_a_claim_behind_a_pause_of_everything_takes_nothing;
    claim_braked: "where jobkit.unversioned(k.kind) <> all (" =>
        "where k.kind <> all (",
        brakes::a_kind_is_paused_in_every_version;
    pause_scope: "and not r.without_permit" => "and false",
        brakes::a_pause_of_a_kind_gives_its_permits_to_others;
    serving: "where b.paused_at is not null" => "where false",
        brakes::a_pause_of_a_kind_gives_its_permits_to_others;
    // Limits.
    claim_braked: " for no key update" => "", brakes::t128_claims_under_a_limit_take_turns;
    claim_braked: " for no key update" => " for no key update skip locked",
        brakes::t128_claims_under_a_limit_take_turns;
    limit_running: GATE => "", brakes::t128_a_limit_waits_for_claims_in_flight;
    claim: "perform jobkit.decide_lock();" => "" with
    claim: "if not v_plain or" => "perform jobkit.decide_lock(); if not v_plain or",
        brakes::t128_a_claim_behind_a_limit_keeps_it;
    claim_few: "or f.place <= p_room[" => "or 9 > p_room[",
        brakes::a_limit_of_a_kind_leaves_the_slots_to_others;
    claim_few: "select q.slots - (" => "select q.slots - 0 * (",
        brakes::a_limit_of_a_kind_leaves_the_slots_to_others;
    hand_over: "and not exists (select from jobkit.braking(j.queue, j.kind))" => "",
        brakes::what_has_a_limit_is_begun_by_a_claim_only;
    pass_permit: "and not exists (select from jobkit.braking(j.queue, n.kind))" => "",
        brakes::what_has_a_limit_is_begun_by_a_claim_only;
    release_brake: "= 0" => "= 9", brakes::a_brake_that_holds_nothing_back_is_gone;
    resume_scope: GATE => "", brakes::t271_a_resume_of_a_kind_waits_for_who_saw_the_pause;
    resume_scope: "update jobkit.sweeps set resumed_at = clock_timestamp();" => "",
        brakes::t172_what_a_sweep_finds_after_a_resume_is_explained;
    sweep_begin: "or (v_resumed > v_last) is true" => "",
        brakes::t172_what_a_sweep_finds_after_a_resume_is_explained;
    // Rates.
    claim_braked: " for no key update" => "", brakes::t129_claims_under_a_rate_take_turns;
    claim_charge: "if v_number > 0 then" => "if false then",
        brakes::a_rate_lets_a_burst_through_and_no_more;
    claim_charge: "where j.id = any (p_ids)" => "where true",
        brakes::what_is_denied_a_permit_costs_no_rate;
    claim_braked: "if v_brake.rate_count is not null and" => "if false and",
        brakes::under_a_rate_nothing_is_claimed_ahead;
    limit_rate: "next_at = least(" => "next_at = greatest(",
        brakes::a_rate_lets_a_burst_through_and_no_more;
    limit_rate: GATE => "", brakes::t270_a_rate_waits_for_claims_in_flight;
    claim_braked: "if v_brake.next_at > v_next then" => "if false then",
        brakes::a_rate_goes_on_after_a_step_of_the_clock;
};
