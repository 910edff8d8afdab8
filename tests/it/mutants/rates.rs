//! Mutants of rates and pauses of keys.

use super::Mutant;
use crate::races::rates;

pub(super) const MUTANTS: &[Mutant] = mutants! {
    // Who decides.
    acquire: "(g.override_rate, g.default_rate) > '0' then 0" =>
        "(g.override_rate, g.default_rate) > '0' then 9",
        rates::a_claim_behind_a_claim_of_its_key_takes_only_the_slots_that_are_left;
    grant_permits: "case when l.timed then 0" => "case when false then 0",
        rates::time_makes_room_for_as_many_as_slots;
    block_backlog: "or l.timed and jobkit.paced(" => "or false and jobkit.paced(",
        rates::a_backlog_over_its_rate_is_set_aside_at_once;
    hand_over: "h.job_id = j.id and h.metered" => "false",
        rates::a_settle_hands_over_no_job_that_waits_for_a_slot;
    pass_permit: "and not l.timed" => "",
        rates::a_settle_passes_no_permit_past_the_rate;
    // The slots.
    grant_timed: "v_key.reserved * -1" => "0",
        rates::a_slot_is_dated_where_a_claim_takes_it;
    begin_slots: "l.reserved, v_key.n," => "l.reserved, 0,",
        rates::a_slot_is_dated_where_a_claim_takes_it;
    acquire_or_block: "perform jobkit.begin_slots(v_mine);" => "",
        rates::time_makes_room_for_as_many_as_slots;
    acquire_or_block: "perform jobkit.begin_slots(p_metered);" => "",
        rates::a_slot_is_dated_where_a_claim_takes_it;
    pace: "when not p_blocked and p_taken = 0 then tat end" => "end",
        rates::an_idle_key_is_forgotten_when_its_slots_are_free_again;
    signal: "and s.tat is null" => "",
        rates::an_idle_key_is_forgotten_when_its_slots_are_free_again;
    // The looks.
    grant_due: "for update skip locked" => "for update",
        rates::a_look_passes_over_a_key_in_other_hands;
    grant_due: "if sqlstate like '40%' then" => "if true then",
        rates::a_key_that_fails_holds_up_no_other;
    paced: "and clock_timestamp() + coalesce(p_rate, '0')" => "and 'infinity'",
        rates::a_faster_rate_holds_at_once;
    // Pauses.
    pause_key: "greatest(s.paused_until, clock_timestamp() + p_for)" =>
        "clock_timestamp() + p_for",
        rates::a_pause_takes_back_what_waits_with_a_permit_and_ends_by_itself;
    take_back: "s.paused or not exists" => "not exists",
        rates::a_pause_takes_back_what_waits_with_a_permit_and_ends_by_itself;
    room: "when p_paused_until > p_at then 0" => "when false then 0",
        rates::a_pause_takes_back_what_waits_with_a_permit_and_ends_by_itself;
    pace: "when paused_until is not null then paused_until" => "when false then null",
        rates::a_pause_takes_back_what_waits_with_a_permit_and_ends_by_itself;
    pace: "or p_begun > 0)" => "or false)",
        rates::a_claim_that_comes_before_a_look_leaves_the_key_due;
};
