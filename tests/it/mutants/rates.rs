//! Mutants of rates and pauses of keys.

use super::Mutant;
use crate::races::{limiters, rates};

pub(super) const MUTANTS: &[Mutant] = mutants! {
    // Who decides.
    acquire: "(g.every, g.code_every) > '0' then 0" =>
        "(g.every, g.code_every) > '0' then 9",
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
    pause_key: "greatest(v_before, p_for)" => "p_for",
        rates::a_pause_takes_back_what_waits_with_a_permit_and_ends_by_itself;
    take_back: "s.paused or not exists" => "not exists",
        rates::a_pause_takes_back_what_waits_with_a_permit_and_ends_by_itself;
    room: "when p_paused_until > p_at then 0" => "when false then 0",
        rates::a_pause_takes_back_what_waits_with_a_permit_and_ends_by_itself;
    pace: "when paused_until is not null then paused_until" => "when false then null",
        rates::a_pause_takes_back_what_waits_with_a_permit_and_ends_by_itself;
    pace: "or p_begun > 0)" => "or false)",
        rates::a_claim_that_comes_before_a_look_leaves_the_key_due;
    // The clock steps back.
    pace: "then least(v_key.paused_until, p_at + v_key.paused_for)" => "then v_key.paused_until",
        rates::a_pause_lasts_no_longer_for_a_step_of_the_clock;
    sweep: "case when l.paused_until <= clock_timestamp() + l.paused_for" => "case when true",
        rates::a_pause_lasts_no_longer_for_a_step_of_the_clock;
    grant_timed: "and not exists (select from jobkit.permits h" =>
        "and false and not exists (select from jobkit.permits h",
        rates::a_slot_of_a_job_that_ends_unbegun_is_given_up;
    // Limiters.
    take_slot: "perform jobkit.create_semaphores(array[p_limiter], array[p_key]);" =>
        "perform 1;",
        limiters::t165_two_who_ask_for_a_slot_take_turns;
    take_slot: "set tat = v_tat + v_key.every" => "set tat = v_tat + v_key.every * 0",
        limiters::t165_two_who_ask_for_a_slot_take_turns;
    take_slot: "greatest(v_now, v_key.paused_until)" => "v_now",
        limiters::t166_who_asks_behind_a_pause_has_a_slot_after_it;
    take_slot: "k.slot_at >= v_from" => "k.slot_at >= v_now",
        limiters::t166_a_pause_behind_a_slot_waits_for_it;
    take_slot: "(v_key.burst - 1)" => "v_key.burst",
        limiters::a_burst_is_at_once_and_the_rest_by_the_rate;
    take_slot: "v_tat := greatest(v_from, case" => "v_tat := greatest('-infinity', case",
        limiters::a_burst_is_at_once_and_the_rest_by_the_rate;
    take_slot: "if v_at is null then" => "if true then",
        limiters::a_slot_too_far_away_is_kept_for_its_job;
    take_slot: "delete from jobkit.kept_slots k where" =>
        "delete from jobkit.kept_slots k where false and",
        limiters::a_slot_too_far_away_is_kept_for_its_job;
    take_slot: "k.slot_at >= v_from" => "true", limiters::a_slot_that_was_missed_is_nobody_s;
    take_slot: "(p_most is not null or v_at <= v_now)::integer" => "1" with
    take_slot: "if p_most is not null or v_at <= v_now or v_key.tat > v_tat then" => "if true then",
        limiters::who_only_tries_takes_nothing;
    take_slot: "and k.every = v_key.every" => "",
        limiters::a_faster_rate_of_a_limiter_holds_at_once;
    slots_end: "and k.every = p_every" => "",
        limiters::a_faster_rate_of_a_limiter_holds_at_once;
    pace: "if v_key.limiter then" => "if false then",
        limiters::a_slot_too_far_away_is_kept_for_its_job;
    pace: "k.slot_at < p_at or" => "", limiters::a_limiter_at_rest_is_forgotten;
    pace: "k.every is distinct from" => "k.every <>",
        limiters::what_was_kept_by_a_rate_goes_with_it;
    announce_limits: "update jobkit.limits l set scope = i.scope" =>
        "update jobkit.limits l set scope = l.scope",
        limiters::a_limiter_that_becomes_a_group_of_jobs_is_none;
    take_slot: "and k.kept_at <= v_now" => "",
        limiters::a_slot_kept_before_a_step_of_the_clock_is_void;
    slots_end: "and k.kept_at <= p_at" => "",
        limiters::a_slot_kept_before_a_step_of_the_clock_is_void;
    take_slot: " or v_key.tat > v_tat" => "",
        limiters::who_tries_after_a_step_of_the_clock_has_a_slot_soon;
    take_slot: "if v_key.paused_until > v_now + v_key.paused_for then" => "if false then",
        limiters::a_pause_of_a_limiter_is_no_longer_for_a_step_of_the_clock;
    take_slot: "l.scope = 'limiter' and l.name" => "l.name",
        limiters::a_group_of_jobs_is_no_limiter;
};
