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
    fire: "and s.times = coalesce(c.times, s.times)" => "",
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
    declare_schedules: "order by r.name" => "order by d.n",
        schedules::t91_two_binaries_that_declare_at_once_take_turns;
};
