//! Mutants of pauses, limits and rates of queues and kinds.

use super::Mutant;
use crate::races::{pause, turns};

/// How an operator's change waits for the claims under way.
const GATE: &str = "lock table jobkit.limits in exclusive mode;";

pub(super) const MUTANTS: &[Mutant] = mutants! {
    // Pauses.
    claim: "perform jobkit.decide_lock();" => "",
        turns::t93_a_pause_of_a_kind_waits_for_claims_in_flight;
    claim: "perform jobkit.decide_lock();" => "" with
    claim: "if not v_plain or" => "perform jobkit.decide_lock(); if not v_plain or",
        turns::t93_a_claim_behind_a_pause_of_a_kind_takes_none_of_it;
    claim: "exists (select from jobkit.limits l where l.holds)" => "false",
        turns::t93_a_claim_behind_a_pause_of_everything_takes_nothing;
    claim_limited: "s.name = q.name and s.paused_at is not null" => "false",
        pause::t93_a_claim_behind_a_pause_takes_nothing;
    pause_limit: GATE => "", turns::t93_a_pause_of_a_kind_waits_for_claims_in_flight;
    claim_limited: "having bool_or(l.scope = 'all') is not true" => "having true",
        turns::t93_a_claim_behind_a_pause_of_everything_takes_nothing;
    claim_limited: "where jobkit.unversioned(k.kind) <> all (" =>
        "where k.kind <> all (",
        turns::a_kind_is_paused_in_every_version;
    pause_limit: "and not r.without_permit" => "and false",
        turns::a_pause_of_a_kind_gives_its_permits_to_others;
    serving: "l.paused_at is not null" => "false",
        turns::a_pause_of_a_kind_gives_its_permits_to_others;
    // Limits.
    claim_limited: " for no key update" => "", turns::t128_claims_under_a_limit_take_turns;
    claim_limited: " for no key update" => " for no key update skip locked",
        turns::t128_claims_under_a_limit_take_turns;
    set_limit: GATE => "", turns::t128_a_limit_waits_for_claims_in_flight;
    claim: "perform jobkit.decide_lock();" => "" with
    claim: "if not v_plain or" => "perform jobkit.decide_lock(); if not v_plain or",
        turns::t128_a_claim_behind_a_limit_keeps_it;
    claim_few: "or f.place <= p_room[" => "or 9 > p_room[",
        turns::a_limit_of_a_kind_leaves_the_slots_to_others;
    claim_few: "select q.slots - (" => "select q.slots - 0 * (",
        turns::a_limit_of_a_kind_leaves_the_slots_to_others;
    hand_over: "and not exists (select from jobkit.limiting(j.queue, j.kind))" => "",
        turns::what_has_a_limit_is_begun_by_a_claim_only;
    pass_permit: "and not exists (select from jobkit.limiting(j.queue, n.kind))" => "",
        turns::what_has_a_limit_is_begun_by_a_claim_only;
    fit_limits: "and num_nonnulls(l.running, l.every, l.code_running, l.code_every) > 0\n    );" =>
        ");", turns::what_is_not_limited_has_no_turn;
    resume_limit: GATE => "", turns::t271_a_resume_of_a_kind_waits_for_who_saw_the_pause;
    resume_limit: ", changed_at = clock_timestamp()" => "",
        turns::t172_what_a_sweep_finds_after_a_resume_is_explained;
    sweep_begin: "where l.changed_at > v_last" => "where false",
        turns::t172_what_a_sweep_finds_after_a_resume_is_explained;
    // Rates.
    claim_limited: " for no key update" => "", turns::t129_claims_under_a_rate_take_turns;
    claim_charge: "if v_number > 0 then" => "if false then",
        turns::a_rate_lets_a_burst_through_and_no_more;
    claim_charge: "where j.id = any (p_ids)" => "where true",
        turns::what_is_denied_a_permit_costs_no_rate;
    claim_limited: "if v_turn.every is not null and" => "if false and",
        turns::under_a_rate_nothing_is_claimed_ahead;
    claim_limited: "if v_turn.tat > v_next then" => "if false then",
        turns::a_rate_lets_a_burst_through_and_no_more;
    set_limit: GATE => "", turns::t270_a_rate_waits_for_claims_in_flight;
    claim_limited: "if v_turn.tat > v_next then" => "if false then",
        turns::a_rate_goes_on_after_a_step_of_the_clock;
};
