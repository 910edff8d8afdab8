//! Mutants of permits, blocked executions, limits and pauses.

use super::Mutant;
use crate::races::{blocked, gate, handover, limits, order, patience, pause, permits, succession};
use crate::{grants, plans};

/// How `acquire` locks and gives.
const TAKE: &str = "do update
            set concurrency_key = excluded.concurrency_key, taken = s.taken + excluded.taken
            where not s.crowded and excluded.taken > 0 and s.taken + excluded.taken <= coalesce(
                s.override_limit, (select l.n from lim l where l.name = s.concurrency_group), 1)";

/// Whoever may give a permit.
const GATE: &str = "perform jobkit.decide_lock();";

pub(super) const MUTANTS: &[Mutant] = mutants! {
    // The lock of a key.
    signal: "k.key for update" => "k.key",
        permits::t01_a_finish_behind_a_claim_that_blocks_unblocks_what_that_blocked;
    signal: "k.key for update" => "k.key for update skip locked",
        permits::t01_a_finish_behind_a_claim_that_blocks_unblocks_what_that_blocked;
    signal: "k.key for update" => "k.key" with
    acquire: TAKE => "do nothing",
        permits::t03_the_second_at_a_fresh_key_holds_it_too;
    acquire: TAKE => "do nothing",
        limits::t127_a_claim_behind_a_finish_that_forgets_its_key_loses_nothing;
    acquire: "order by 2, 1" => "order by 2 desc, 1",
        order::a_finish_and_a_claim_of_the_same_keys_do_not_deadlock;
    signal: "order by 2, 1" => "order by 2 desc, 1",
        order::a_finish_and_a_claim_of_the_same_keys_do_not_deadlock;
    signal: "order by 2, 1" => "order by 2 desc, 1",
        order::a_sweep_and_a_finish_of_the_same_keys_do_not_deadlock;
    acquire: "from demand d order by 2, 1" => "from demand d order by 1, 2",
        order::keys_of_two_groups_are_locked_in_one_order;
    signal: "order by 2, 1" => "order by 1, 2",
        order::keys_of_two_groups_are_locked_in_one_order;
    lock_semaphores: "order by 2, 1" => "order by 1, 2",
        order::keys_of_two_groups_are_locked_in_one_order;
    create_semaphores: "order by 2, 1" => "order by 1, 2",
        order::keys_of_two_groups_are_locked_in_one_order;
    withdraw: "where (j.concurrency_group, j.concurrency_key) in (" =>
        "where (j.concurrency_group, j.concurrency_key) is not null
            or (j.concurrency_group, j.concurrency_key) in (",
        order::a_job_blocked_behind_a_cancel_does_not_deadlock_it;
    withdraw: "and (q.without_permit or" => "and (true or",
        order::a_permit_granted_behind_a_cancel_is_not_lost;
    withdraw: "from jobkit.signal(jobs, groups, keys) s" =>
        "from jobkit.lock_semaphores(jobs) l, jobkit.signal(jobs, l.groups, l.keys) s",
        order::a_key_made_behind_a_cancel_does_not_deadlock_it;
    // What a claim reads.
    pass_permit: "where j.id = n.job_id offset 0" => "where j.id + 0 = n.job_id offset 0",
        plans::a_relay_reads_the_one_job_that_it_passes_the_permit_to;
    serving: "not w.stopping" => "coalesce(not w.stopping, true)" with
    serving: "l.holds and" => "coalesce(l.holds, false) and",
        plans::a_relay_reads_the_one_job_that_it_passes_the_permit_to;
    // Who runs it.
    pass_permit: "and w.lease_until > clock_timestamp()" => "",
        succession::a_worker_that_stops_or_has_no_lease_takes_nothing;
    pass_permit: "and not w.stopping" => "",
        succession::a_worker_that_stops_or_has_no_lease_takes_nothing;
    pass_permit: "for key share skip locked" => "",
        succession::a_reaper_passes_over_a_worker_that_takes_over;
    pass_permit: "for key share skip locked" => "for key share",
        succession::a_worker_that_is_just_being_reaped_takes_nothing;
    pass_permit: "and p_room[array_position(p_queues, j.queue)] > 0" => "",
        succession::as_many_go_along_as_there_is_room_for;
    pass_permit: "and jobkit.payload_size(j)" => "and 0 * jobkit.payload_size(j)",
        succession::payloads_beyond_the_limit_of_an_answer_are_left;
    pass_permit: "and n.kind = any (w.kinds)" => "",
        succession::a_job_of_another_kind_or_queue_is_left_to_those_who_serve_it;
    pass_permit: "and j.crashes < 2" => "",
        succession::a_crash_suspect_is_left_to_a_claim;
    pass_permit: "s.concurrency_key = p.concurrency_key\n        for update" =>
        "s.concurrency_key = p.concurrency_key",
        succession::two_who_end_at_once_take_two;
    pass_permit: "order by n.priority, n.job_id limit" =>
        "order by n.priority, n.job_id desc limit",
        succession::the_blocked_job_of_the_best_priority_goes_along;
    pass_permit: "order by n.priority, n.job_id limit" => "order by n.job_id limit",
        succession::the_blocked_job_of_the_best_priority_goes_along;
    pass_permit: "and l.taken = l.effective_limit" => "",
        succession::after_a_lowered_limit_nobody_goes_along;
    pass_permit: "and l.taken = l.effective_limit" => "and l.taken >= l.effective_limit",
        succession::after_a_lowered_limit_nobody_goes_along;
    pass_permit: "and l.taken = l.effective_limit" => "and l.taken <= l.effective_limit",
        succession::after_a_raised_limit_all_that_fit_follow;
    pass_permit: "and exists (select from jobkit.serving(n.queue, n.kind))" => "",
        succession::a_paused_queue_hands_nothing_over;
    pass_permit: ", since = clock_timestamp()" => "",
        succession::a_permit_is_held_since_it_was_passed_on;
    pass_permit: "j.dead_letter_id is not null as replays" => "false as replays",
        succession::a_replay_that_goes_along_resolves_its_dead_letter;
    pass_permit: "perform jobkit.skip_dead(array[v_key.grp], array[v_key.key]);" => "",
        succession::the_search_begins_behind_dead_entries_that_made_it_slow;
    settle: "and cardinality(p.job) = 1 then" => "then",
        succession::as_many_go_along_as_there_is_room_for;
    settle: "and v_finish = p.job and" => "and",
        succession::a_settle_under_another_claim_passes_nothing_on;
    settle: "and v_finish = p.job and" => "and v_held = p.job and",
        succession::a_job_that_is_given_back_comes_before_younger_ones;
    // … where there is more than one.
    settle: "if v_keyed and p_next is not null" => "if false" with
    hand_over: "and w.lease_until > clock_timestamp()" => "",
        succession::a_worker_that_stops_or_has_no_lease_takes_nothing;
    settle: "if v_keyed and p_next is not null" => "if false" with
    hand_over: "and not w.stopping" => "",
        succession::a_worker_that_stops_or_has_no_lease_takes_nothing;
    settle: "if v_keyed and p_next is not null" => "if false" with
    hand_over: "for key share skip locked" => "",
        succession::a_reaper_passes_over_a_worker_that_takes_over;
    settle: "if v_keyed and p_next is not null" => "if false" with
    hand_over: "for key share skip locked" => "for key share",
        succession::a_worker_that_is_just_being_reaped_takes_nothing;
    settle: "if v_keyed and p_next is not null" => "if false" with
    hand_over: "f.place <= f.room and" => "",
        succession::as_many_go_along_as_there_is_room_for;
    settle: "if v_keyed and p_next is not null" => "if false" with
    hand_over: "(partition by j.queue order by j.priority, j.id)" => "(order by j.id)",
        succession::as_many_go_along_as_there_is_room_for;
    settle: "if v_keyed and p_next is not null" => "if false" with
    hand_over: "and f.size <= 8 * 1024 * 1024" => "",
        succession::payloads_beyond_the_limit_of_an_answer_are_left;
    block: "jobkit.versioned(j.kind, j.version)" => "j.kind",
        succession::a_job_of_another_version_is_left_to_those_who_know_it;
    make_ready: "jobkit.versioned(j.kind, j.version)" => "j.kind",
        succession::a_job_of_another_version_is_left_to_those_who_know_it;
    settle: "if v_keyed and p_next is not null" => "if false" with
    hand_over: "jobkit.versioned(j.kind, j.version) = any" => "j.kind = any",
        succession::a_job_of_another_version_is_left_to_those_who_know_it;
    settle: "if v_keyed and p_next is not null" => "if false" with
    hand_over: "and jobkit.versioned(j.kind, j.version) = any (w.kinds)" => "",
        succession::a_job_of_another_kind_or_queue_is_left_to_those_who_serve_it;
    settle: "if v_keyed and p_next is not null" => "if false" with
    hand_over: "bool_or(f.dead_letter_id is not null)" => "false",
        succession::a_replay_that_goes_along_resolves_its_dead_letter;
    settle: "if v_keyed and p_next is not null" => "if false" with
    hand_over: "and j.crashes < 2" => "",
        succession::a_crash_suspect_is_left_to_a_claim;
    settle_grant: "except select unnest(v_claimed)" => "",
        succession::as_many_go_along_as_there_is_room_for;
    // Who is next.
    grant_permits: "order by b.priority, b.job_id limit" =>
        "order by b.priority, b.job_id desc limit",
        blocked::never_a_newer_candidate_of_the_same_claim;
    grant_permits: "order by b.priority, b.job_id limit" => "order by b.job_id limit",
        permits::t37_the_blocked_job_of_the_best_priority_is_next;
    grant_permits: "order by b.priority, b.job_id limit" => "order by b.since desc limit",
        blocked::an_older_blocked_job_goes_before_a_candidate;
    grant_permits: "order by b.priority, b.job_id limit" => "order by b.since limit",
        blocked::a_candidate_of_a_better_priority_goes_first;
    grant_permits: "and exists (select from jobkit.serving(b.queue, b.kind))" => "",
        pause::a_finish_behind_a_pause_passes_the_queue_over;
    grant_permits: "limit least(f.free, f.freed + 1000)" => "limit least(f.free, 1)",
        handover::two_jobs_of_a_batch_unblock_two;
    grant_permits: "limit least(f.free, f.freed + 1000)" => "limit f.free + 1",
        permits::t05_a_claim_behind_a_finish_does_not_overtake_the_blocked;
    grant_permits: "and exists (select from jobkit.serving(b.queue, b.kind))" => "",
        pause::kinds_nobody_serves_get_no_permit;
    acquire: "coalesce(g.running, g.code_running, 1)" => "coalesce(g.code_running, 1)",
        limits::a_claim_behind_a_lowered_limit_of_its_group_grants_no_more;
    grant_permits: "greatest(0, l.effective_limit" =>
        "greatest(0, coalesce((select g.running from jobkit.limits g
            where g.scope = 'group' and g.name = k.grp), l.effective_limit)",
        grants::permits_go_to_the_first_that_are_served;
    grant_permits: "- l.taken + coalesce(k.freed, 0))" => "- l.taken)",
        grants::permits_go_to_the_first_that_are_served;
    serving: "not w.stopping and " => "",
        pause::workers_that_stop_get_no_permit;
    serving: "l.paused_at is not null" => "false",
        pause::a_finish_behind_a_pause_passes_the_queue_over;
    // What is read before the lock is not what counts.
    settle: "if v_keyed and p_next is not null" =>
        "perform set_config('test.seen', (select coalesce(string_agg(b.job_id::text, ' '), '-')
            from jobkit.blocked_executions b), true);
        if v_keyed and p_next is not null" with
    pass_permit: "and exists (select from jobkit.serving(n.queue, n.kind))" =>
        "and exists (select from jobkit.serving(n.queue, n.kind))
        and n.job_id::text = any (string_to_array(current_setting('test.seen', true), ' '))",
        succession::a_finish_behind_a_claim_that_blocks_takes_what_that_blocked;
    settle: "if v_keyed then\n        select * into v_freed" =>
        "perform set_config('test.seen', (select coalesce(string_agg(b.job_id::text, ' '), '-')
            from jobkit.blocked_executions b), true);
        if v_keyed then\n        select * into v_freed" with
    grant_permits: "and exists (select from jobkit.serving(b.queue, b.kind))" =>
        "and exists (select from jobkit.serving(b.queue, b.kind))
        and (coalesce(current_setting('test.seen', true), '') = ''
            or b.job_id::text = any (string_to_array(current_setting('test.seen', true), ' ')))",
        permits::t01_a_finish_behind_a_claim_that_blocks_unblocks_what_that_blocked;
    // Permits given at once.
    acquire: "not s.crowded and " => "",
        blocked::an_older_blocked_job_goes_before_a_candidate;
    acquire: "s.taken + excluded.taken <=" => "excluded.taken <=",
        permits::t03_the_second_at_a_fresh_key_holds_it_too;
    acquire: "case when count(*) <= coalesce(min(l.n), 1) then count(*) else 0 end" => "count(*)",
        blocked::never_a_newer_candidate_of_the_same_claim;
    block: "set crowded = true" => "set crowded = s.crowded",
        permits::t06_two_finishes_unblock_two;
    grant_permits: "crowded = c.stays_crowded" => "crowded = false",
        limits::t24_after_a_lowered_limit_nobody_follows_until_fewer_run;
    // Permits that come back.
    signal: "delete from jobkit.permits p where p.job_id = any (p_jobs)
        returning p.concurrency_group as grp, p.concurrency_key as key" =>
        "select p.concurrency_group as grp, p.concurrency_key as key
        from jobkit.permits p where p.job_id = any (p_jobs)",
        handover::every_way_out_hands_the_permit_on;
    signal: "select g.grp, g.key, 1 as n from gone g" =>
        "select j.concurrency_group as grp, j.concurrency_key as key, 1 as n
        from jobkit.jobs j where j.id = any (p_jobs)",
        permits::t08_a_finish_behind_the_cancel_of_the_blocked_leaves_the_key_free;
    signal: "where p.job_id = any (p_jobs)" => "where p.concurrency_key in (
            select j.concurrency_key from jobkit.jobs j where j.id = any (p_jobs))",
        permits::t06_two_finishes_unblock_two;
    settle: "jobkit.signal(v_held," => "jobkit.signal(v_finish,",
        handover::every_way_out_hands_the_permit_on;
    settle: "jobkit.signal(v_held," => "jobkit.signal(p.job," with
    settle_partial: "coalesce(bool_or(s.keyed), false)" => "true",
        handover::t17_a_failure_of_the_first_attempt_leaves_the_permit_of_the_second;
    settle_partial: "coalesce(bool_or(s.keyed), false)" => "false",
        handover::a_mixed_batch_frees_what_it_held;
    settle_grant: "select jobkit.grant_permits(p_groups, p_keys, p_freed)" =>
        "select 0::bigint where false",
        permits::t06_two_finishes_unblock_two;
    give_back: "jobkit.signal(p_jobs)" => "jobkit.signal('{}')",
        handover::t18_two_reapers_free_a_permit_once;
    give_back: "perform jobkit.grant_and_wake(v_freed.groups, v_freed.keys, v_freed.freed);" =>
        "",
        handover::t15_a_finish_behind_a_reap_frees_nothing;
    give_back: "perform jobkit.grant_and_wake(v_freed.groups, v_freed.keys, v_freed.freed);" =>
        "",
        handover::t26_a_job_given_back_keeps_its_turn;
    cancel_take: "jobkit.grant_and_wake(v_pulled.groups, v_pulled.keys, v_pulled.freed)" =>
        "null",
        handover::t21_a_bulk_cancel_frees_as_many_as_it_took;
    reschedule: "jobkit.grant_and_wake(v_pulled.groups, v_pulled.keys, v_pulled.freed)" =>
        "null",
        handover::every_way_to_wait_gives_the_permit_up;
    take_back: "and (s.paused or not exists (select from jobkit.serving(q.queue, q.kind)))" => "",
        pause::a_permit_that_a_claim_takes_is_not_taken_back;
    take_back: "for update skip locked" => "for update",
        pause::a_permit_that_a_claim_takes_is_not_taken_back;
    // Semaphores that are forgotten.
    settle: "p_last => v_other = '{}'" => "p_last => true",
        patience::a_claim_from_the_marks_gives_back_what_it_cannot_decide;
    signal: "and not s.crowded and" => "and",
        handover::every_way_out_hands_the_permit_on;
    signal: "and s.taken = k.n" => "",
        limits::a_finish_behind_a_change_of_its_key_judges_what_the_key_is_then;
    signal: "and s.override_limit is null" => "",
        limits::a_finish_behind_a_change_of_its_key_judges_what_the_key_is_then;
    signal: "where s.ctid = any (v_unused)" => "where false",
        limits::a_finish_behind_a_change_of_its_key_judges_what_the_key_is_then;
    grant_permits: "c.crowded and (count(c.job_id) > 0" =>
        "c.crowded and count(c.job_id) > 0 and (count(c.job_id) > 0",
        pause::kinds_nobody_serves_get_no_permit;
    grant_permits: "c.taken = c.freed and c.override_limit is null" => "c.override_limit is null",
        limits::a_claim_behind_a_lowered_limit_of_its_group_grants_no_more;
    grant_permits: " and c.override_limit is null" => "",
        limits::a_key_with_a_limit_of_its_own_is_kept_while_idle;
    grant_permits: "c.free = 0 and c.taken > c.freed" => "c.free = 0",
        limits::a_key_emptied_under_a_limit_of_zero_is_forgotten;
    grant_permits: "where c.unused and not c.stays_crowded" => "where false",
        limits::a_key_with_a_limit_of_its_own_is_kept_while_idle;
    // Where the search begins.
    block: "crowded = true, from_priority = k.priority, from_id = k.job_id" => "crowded = true",
        blocked::a_job_given_back_is_found_before_the_mark;
    block: "crowded = true, from_priority = k.priority, from_id = k.job_id" => "crowded = true",
        blocked::a_job_parked_before_the_mark_is_found;
    block: "crowded = true, from_priority = k.priority, from_id = k.job_id" => "crowded = true",
        blocked::a_candidate_blocked_before_the_mark_is_found;
    skip_dead: "order by b.priority, b.job_id limit 1" =>
        "order by b.priority desc, b.job_id desc limit 1",
        blocked::a_mark_moves_to_what_is_there;
    sweep: "crowded = true, from_priority = -3, from_id = 0" => "crowded = true",
        blocked::a_mark_moves_to_what_is_there;
    sweep: "if v_seen < p_limit then" => "if true then",
        blocked::t34_a_sweep_goes_past_a_thousand_busy_keys;
    // Parking.
    block_backlog: "and q.without_permit and q.job_id" => "and q.job_id",
        blocked::parking_leaves_the_holder_of_a_permit;
    block_backlog: "for update skip locked" => "for update",
        blocked::parking_passes_over_rows_in_other_hands;
    block_backlog: " and q.kind = any (p_kinds)" => "",
        blocked::parking_keeps_to_the_kinds_and_queues_of_the_claim;
    block_backlog: "1000 / count(*) over ()" => "1000 + 0 * count(*) over ()",
        blocked::parking_shares_a_thousand_among_the_keys;
    acquire_or_block: "if v_denied.jobs <> '{}' then" => "if false then",
        blocked::a_backlog_behind_a_busy_key_is_parked_at_once;
    // Pauses.
    claim: "perform jobkit.decide_lock();" => "",
        pause::t93_a_pause_waits_for_claims_in_flight;
    claim: "perform jobkit.decide_lock();" => "" with
    claim: "if not v_plain or" => "perform jobkit.decide_lock(); if not v_plain or",
        pause::t93_a_claim_behind_a_pause_takes_nothing;
    claim_limited: "and s.paused_at is not null" => "and false",
        pause::t93_a_claim_behind_a_pause_takes_nothing;
    settle: "perform jobkit.decide_lock();" => "",
        pause::a_pause_waits_for_grants_in_flight_and_takes_them_back;
    limit_key: GATE => "perform jobkit.require_read_committed();",
        gate::a_pause_takes_back_what_a_limit_gives;
    sweep: GATE => "perform jobkit.require_read_committed();",
        gate::a_pause_takes_back_what_a_sweep_gives;
    reap_claim: GATE => "perform jobkit.require_read_committed();",
        gate::a_pause_takes_back_what_a_reap_gives;
    release_lost: GATE => "perform jobkit.require_read_committed();",
        gate::a_pause_takes_back_what_a_give_back_gives;
    cancel_take: GATE => "perform jobkit.require_read_committed();",
        gate::a_pause_takes_back_what_a_cancel_gives;
    reschedule: GATE => "perform jobkit.require_read_committed();",
        gate::a_pause_takes_back_what_a_reschedule_gives;
    sweep_unserved: GATE => "perform jobkit.require_read_committed();",
        gate::a_pause_takes_back_what_a_sweep_of_the_unserved_gives;
    sweep_start: "lock table jobkit.limits in exclusive mode;" => "",
        pause::a_start_waits_for_those_who_decided_without_it;
    block_backlog: "l.taken >= l.effective_limit or" => "true or",
        blocked::parking_leaves_a_key_with_free_permits_alone;
    pause_limit: "and not r.without_permit" => "and false",
        pause::a_pause_gives_the_permits_of_its_queue_to_others;
    // Limits.
    set_limit: "lock table jobkit.limits in exclusive mode;" => "",
        limits::a_limit_of_a_group_waits_for_grants_in_flight;
    announce_limits: "lock table jobkit.limits in exclusive mode;" => "",
        limits::a_limit_of_a_group_waits_for_grants_in_flight;
    settle: "perform jobkit.decide_lock();" => "",
        limits::a_limit_of_a_group_waits_for_grants_in_flight;
    limit_key: "jobkit.grant_and_wake(array[p_group], array[p_key], null) >= 1000" => "false",
        limits::t23_a_raised_limit_and_a_finish_both_unblock;
    limit_key: "perform jobkit.create_semaphores(array[p_group], array[p_key]);" =>
        "insert into jobkit.semaphores (concurrency_group, concurrency_key)
        values (p_group, p_key) on conflict do nothing;",
        limits::a_limit_behind_the_end_of_its_semaphore_is_kept;
    // What a claim gives back.
    claim_keyed: "array(select unnest(v_held) except" => "array(select unnest(v_free) except",
        patience::a_claim_waits_a_tenth_of_a_second_and_returns_the_rest;
    claim_keyed: "'100ms'" => "'5s'",
        patience::a_claim_waits_a_tenth_of_a_second_and_returns_the_rest;
    claim_within: "jobkit.make_ready(v_returned, true)" => "jobkit.make_ready(v_returned)",
        patience::what_is_cut_off_at_8_mib_keeps_its_permits;
    make_ready: "j.concurrency_key is null or not p_permits" => "not p_permits",
        patience::what_is_cut_off_at_8_mib_keeps_its_permits;
};
