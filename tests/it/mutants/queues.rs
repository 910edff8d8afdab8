//! Mutants of bounds, of shared slots and of patterns.

use super::Mutant;
use crate::races::queues;

pub(super) const MUTANTS: &[Mutant] = mutants! {
    require_room: "< clock_timestamp();" => "< clock_timestamp() for update;",
        queues::t230_an_enqueue_waits_for_no_look_at_its_bound;
    enqueue_all: "if p_bounded and" => "if false and",
        queues::t235_a_bound_holds_where_nobody_looks;
    look_at_bounds: " skip locked" => "", queues::t231_a_look_passes_over_what_another_looks_at;
    claim_shared: "limit g.room" => "",
        queues::t232_two_claims_of_shared_slots_take_no_more_than_each_has_room;
    claim_shared: "p_rooms[v_pool] - cardinality(v_at)" => "p_rooms[v_pool]",
        queues::t232_two_claims_of_shared_slots_take_no_more_than_each_has_room;
    claim: "where q.paused_at is not null" => "where false",
        queues::t233_a_claim_of_shared_slots_behind_a_pause_takes_of_the_others;
    claim: "perform jobkit.decide_lock();" => "",
        queues::t233_a_claim_of_shared_slots_behind_a_pause_takes_of_the_others;
    serving: " or p_queue ^@ any (w.prefixes)" => "",
        queues::t234_a_grant_reaches_who_serves_by_a_pattern;
    register: "p_pools is not null and " => "",
        queues::t234_a_grant_reaches_who_serves_by_a_pattern;
    require_room: "v_full := v_bound.waiting >= v_most;" => "",
        queues::t235_a_bound_holds_where_nobody_looks;
};
