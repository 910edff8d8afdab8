//! Mutants of what keeps going beside a row that is damaged, and of operations.

use super::Mutant;
use crate::admin::{astray, carried_out};
use crate::races::{acknowledged, reseal};
use crate::{steps, stuck};

pub(super) const MUTANTS: &[Mutant] = mutants! {
    // What is acknowledged.
    acknowledge: "greatest(a.up_to, excluded.up_to)" => "excluded.up_to",
        acknowledged::t290_of_two_acknowledgements_at_once_the_later_look_counts;
    acknowledge: "least(p_up_to, clock_timestamp())" => "clock_timestamp()",
        acknowledged::t291_what_happens_between_the_look_and_the_acknowledgement_rings;
    acknowledge: "case when a.up_to <= clock_timestamp()" => "case when true",
        steps::an_acknowledgement_silences_nothing_that_comes_later;
    key_violations: "w.lease_until > clock_timestamp()" => "true",
        acknowledged::an_outage_is_no_broken_promise;
    acknowledge: " for update skip locked" => "",
        acknowledged::t292_an_acknowledgement_beside_forgotten_ones_waits_for_nobody;
    // A damaged row.
    unclaim: "(p_jobs is null or l.id = any (p_jobs))" => "true",
        stuck::claims_of_dead_workers_are_taken_back_but_for_the_job_that_cannot_be;
    unclaim: "(p_jobs is null or l.id = any (p_jobs))" => "true",
        stuck::lost_claims_are_given_back_but_for_the_job_that_cannot_be;
    set_aside: "if exists (select from jobkit.limits l where l.holds) then" => "if false then",
        stuck::a_claim_is_refused_behind_what_is_paused_or_limited;
    promote: "if sqlstate like '40%' then" => "if true then",
        stuck::due_jobs_become_ready_beside_one_that_cannot;
    // Payloads that get another key.
    reseal: "order by j.id for update skip locked" => "order by j.id for update",
        reseal::what_somebody_has_in_hand_is_passed_over;
    reseal: "order by d.kind, d.key, d.id for update skip locked" => "order by d.id for update",
        reseal::what_somebody_has_in_hand_is_passed_over;
    reseal: "order by s.name for update skip locked" => "order by s.name for update",
        reseal::what_somebody_has_in_hand_is_passed_over;
    reseal: " and j.args::text = n.before" => "",
        reseal::what_has_changed_since_the_look_stays;
    reseal: " and d.args::text = n.before" => "",
        reseal::what_has_changed_since_the_look_stays;
    reseal: " and s.args::text = n.before" => "",
        reseal::what_has_changed_since_the_look_stays;
    promote: "            for update skip locked\n        ));" =>
            "            for update\n        ));",
        reseal::t243_a_promote_passes_over_a_note_in_hand;
    // What lies open of a kind that encrypts.
    enqueue: "case when v_kind.redact <> '{}' then" => "case when false then",
        reseal::what_lies_open_is_refused_whoever_names_the_kind;
    fan_out: "unnest(v_to.sealed)" => "unnest('{}'::text[])",
        reseal::what_lies_open_is_refused_whoever_names_the_kind;
    replay: "perform jobkit.require_payload(v_entry.kind, p_args::text);" => "",
        reseal::what_lies_open_is_refused_whoever_names_the_kind;
    create_schedule: "jobkit.require_payload(v_new.kind, p_args)" => "null",
        reseal::what_lies_open_is_refused_whoever_names_the_kind;
    edit_schedule: "jobkit.require_payload(v_old.kind, p_args)" => "null",
        reseal::what_lies_open_is_refused_whoever_names_the_kind;
    require_payload: "jobkit.require_sealed(p_kind, v_args)" => "null",
        reseal::what_lies_open_is_refused_whoever_names_the_kind;
    strays: "else not p_is_root and p_value - 'jobkit:sealed' <> '{}' end" => "else false end",
        astray::sql_takes_no_payload_in_which_nobody_knows_what_to_hide;
    strays: "return true;" => "return false;",
        astray::sql_takes_no_payload_in_which_nobody_knows_what_to_hide;
    // The pace of an operation, and its end.
    operate: "or v_operation.next_at\n        between clock_timestamp()" =>
        "or false and clock_timestamp() between clock_timestamp()",
        carried_out::a_pace_holds_for_all_who_carry_it_out;
    operate: "least(p_rows, 1000, v_operation.per_second)" => "least(p_rows, 1000)",
        carried_out::a_pace_holds_for_all_who_carry_it_out;
    operate: "elsif v_operation.per_second is not null then" => "elsif false then",
        carried_out::a_pace_holds_for_all_who_carry_it_out;
    // Three locks stand in the way of a second hand on the same page.
    operate: "o.ended_at is null for update skip locked" => "o.ended_at is null" with
    operate: "'running' end
    where o.id = p_id;" => "'running' end
    where false;" with
    take_dead_letters: "order by d.failed_at, d.id for update skip locked" => "",
        carried_out::many_carry_out_one_operation_together;
    operation_end: "ended_at = clock_timestamp()" =>
        "ended_at = case when p_state = 'done' then clock_timestamp() end",
        carried_out::a_cancelled_operation_is_not_carried_on;
};
