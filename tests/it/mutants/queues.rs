//! Mutants of bounds, of shared slots and of patterns.

use super::Mutant;
use crate::races::queues;
use crate::steps;

pub(super) const MUTANTS: &[Mutant] = mutants! {
    require_room: "+ interval '5 s';" => "+ interval '5 s' for update;",
        queues::t230_an_enqueue_waits_for_no_look_at_its_bound;
    insert_jobs: "if p_bounded and" => "if false and",
        queues::t235_a_bound_holds_where_nobody_looks;
    look_at_bounds: " skip locked" => "", queues::t231_a_look_passes_over_what_another_looks_at;
    claim_shared: "limit g.room" => "",
        queues::t232_two_claims_of_shared_slots_take_no_more_than_each_has_room;
    claim_shared: "p_rooms[v_pool] - cardinality(v_at)" => "p_rooms[v_pool]",
        queues::t232_two_claims_of_shared_slots_take_no_more_than_each_has_room;
    claim_limited: "and s.paused_at is not null" => "and false",
        queues::t233_a_claim_of_shared_slots_behind_a_pause_takes_of_the_others;
    claim: "perform jobkit.decide_lock();" => "",
        queues::t233_a_claim_of_shared_slots_behind_a_pause_takes_of_the_others;
    serving: " or p_queue ^@ any (w.prefixes)" => "",
        queues::t234_a_grant_reaches_who_serves_by_a_pattern;
    register: "right(q.name, 1) = '*'" => "false",
        queues::t234_a_grant_reaches_who_serves_by_a_pattern;
    require_room: "v_full := v_bound.waiting >= v_most;" => "",
        queues::t235_a_bound_holds_where_nobody_looks;
    waiting_in: "where p_blocked and" => "where false and",
        queues::what_waits_for_a_permit_counts_for_a_bound;
    // The clock steps back.
    look_at_bounds: " or b.looked_at > clock_timestamp()" => "",
        steps::a_bound_counts_anew;
    require_room: "not between clock_timestamp() and clock_timestamp() + interval '5 s';" =>
        "< clock_timestamp();",
        steps::a_bound_counts_anew;
    require_room: "(v_bound.looked_at between clock_timestamp() - interval '5 s' and" =>
        "(v_bound.looked_at > clock_timestamp() - interval '5 s' or 'epoch' >",
        steps::a_bound_counts_anew;
    stuck: "and clock_timestamp() + interval '5 min'" => "and 'infinity'",
        steps::what_is_stuck_is_tried_again;
    operate: "and clock_timestamp() + interval '1 s'" => "and 'infinity'",
        steps::an_operation_rests_for_a_second_at_most;
    pause_key: "least(s.paused_until - v_now, s.paused_for)" => "s.paused_until - v_now",
        steps::a_later_pause_of_a_key_is_no_longer_than_it_says;
};
