//! Mutants of schedules.

use super::Mutant;
use crate::races::schedules;

pub(super) const MUTANTS: &[Mutant] = mutants! {
    fire: "for update of s skip locked" => "for update of s",
        schedules::t89_a_second_one_who_fires_passes_over_what_the_first_has_in_hand;
    fire: "for update of s skip locked" => "",
        schedules::t89_a_second_one_who_fires_passes_over_what_the_first_has_in_hand;
    fire: "for update of s skip locked" => "",
        schedules::t90_whoever_fires_passes_over_what_is_being_edited;
    fire: "and s.next_at = c.seen" => "",
        schedules::t89_what_was_decided_is_not_decided_again;
    fire: "and s.times = c.times" => "",
        schedules::t170_what_was_decided_by_other_times_is_decided_anew;
    fire: "and p.instant > coalesce(s.last_at, '-infinity')" => "",
        schedules::t89_what_was_decided_is_not_decided_again;
    fire: "where r.schedule = s.name and r.instant = p.instant" => "where false",
        schedules::t89_what_was_decided_is_not_decided_again;
    fire: "and i.last <= v_now is not false" => "",
        schedules::t89_what_was_decided_is_not_decided_again;
    fire: "when s.paused_at is not null then 'paused'" => "",
        schedules::a_pause_between_the_look_and_the_firing_is_heeded;
    fire: "where j.id = any (s.jobs)" => "where false",
        schedules::a_job_that_runs_is_a_reason_to_skip;
    enqueue_scheduled: "where j.id = any (s.jobs)" => "where false",
        schedules::a_job_that_runs_is_a_reason_to_skip;
    edit_schedule: "s.removed_at is null for update" => "s.removed_at is null",
        schedules::t90_an_edit_of_something_else_keeps_the_advance;
    resume_schedule: "elsif v_schedule.next_at <= clock_timestamp() then" => "elsif false then",
        schedules::a_resume_waits_until_everything_of_the_pause_is_decided;
    edit_schedule: "if p_changes ? 'times' and v_old.next_at <= clock_timestamp() then" =>
        "if false then",
        schedules::t250_an_edit_beside_a_fire_that_fails_loses_nothing;
    delete_schedule: "s.removed_at is null for update" => "s.removed_at is null",
        schedules::t251_a_deletion_waits_for_whoever_fires_and_records_what_is_due;
    delete_schedule: "perform jobkit.miss_due(p_name, null);" => "",
        schedules::t251_a_deletion_waits_for_whoever_fires_and_records_what_is_due;
    declare_schedules: "where s.name = v_new.name for update" => "where s.name = v_new.name",
        schedules::t252_a_declaration_of_other_times_waits_for_whoever_fires;
    hasten_schedules: "for update of s skip locked" => "for update of s",
        schedules::t253_what_has_moved_on_or_is_in_hand_is_not_hastened;
    hasten_schedules: "and s.next_at = c.seen" => "",
        schedules::t253_what_has_moved_on_or_is_in_hand_is_not_hastened;
    fire: "perform jobkit.undecide(v_taken);" => "",
        schedules::t254_an_instant_that_a_wrong_clock_skipped_is_decided_when_it_comes;
    undecide: "and r.skipped is not null" => "",
        schedules::t254_an_instant_that_a_wrong_clock_skipped_is_decided_when_it_comes;
    undecide: "and r.instant >= s.next_at" => "",
        schedules::t254_an_instant_that_a_wrong_clock_skipped_is_decided_when_it_comes;
    miss_due: "case when s.next_at < v_last then s.next_at end" => "null::timestamptz",
        schedules::t251_a_deletion_waits_for_whoever_fires_and_records_what_is_due;
    miss_due: "least(clock_timestamp(), p_until - interval '1 us')" => "clock_timestamp()",
        schedules::t257_whatever_is_due_when_times_change_is_recorded;
    miss_due: "and s.next_at is distinct from p_until" => "",
        schedules::t257_whatever_is_due_when_times_change_is_recorded;
    miss_due: "set last_at = greatest(s.last_at, v_last)" => "set last_at = s.last_at",
        schedules::t258_a_row_that_stands_for_many_ends_where_a_wrong_clock_began;
    undecide: "where u.since < u.next_at" => "where false",
        schedules::t258_a_row_that_stands_for_many_ends_where_a_wrong_clock_began;
    undecide: "where u.since < u.next_at" => "where u.since is not null",
        schedules::t258_a_row_that_stands_for_many_ends_where_a_wrong_clock_began;
    declare_schedules: "stays := coalesce(p_declaration < v_old.declaration, false) and" =>
        "stays := false and",
        schedules::t255_an_older_declaration_changes_nothing_while_a_newer_lives;
    declare_schedules: "and w.lease_until > clock_timestamp()" => "",
        schedules::t255_an_older_declaration_changes_nothing_while_a_newer_lives;
    declare_schedules: "order by r.name" => "order by d.n",
        schedules::t91_two_binaries_that_declare_at_once_take_turns;
};
