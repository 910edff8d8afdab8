-- Lets time pass by moving what is stored into the past: jobs and what their due times depend on.
-- Leases, the history (which is stored by day) and infinite times stay as they are.
-- $1 how long
with jobs as (
    update jobkit.jobs set created_at = created_at - $1::interval,
        run_at = case when run_at = jobkit.parked() then run_at else run_at - $1 end,
        waits_since = waits_since - $1, due_since = due_since - $1
), scheduled as (
    update jobkit.scheduled set run_at = run_at - $1 where run_at <> jobkit.parked()
), attempts as (
    update jobkit.attempts set ended_at = ended_at - $1
), blocked as (
    update jobkit.blocked_executions set since = since - $1
), held as (
    update jobkit.unique_keys
    set held_until = held_until - $1, follower_until = follower_until - $1
    where num_nonnulls(held_until, follower_until) > 0
), semaphores as (
    update jobkit.semaphores set tat = tat - $1, paused_until = paused_until - $1
    where tat is not null or paused_until is not null
), due_keys as (
    update jobkit.due_keys set due_at = due_at - $1
), kept_slots as (
    update jobkit.kept_slots set slot_at = slot_at - $1, kept_at = kept_at - $1
), turns as (
    update jobkit.turns set tat = tat - $1
), stuck as (
    update jobkit.stuck_jobs set since = since - $1, retry_at = retry_at - $1
), dead_letters as (
    update jobkit.dead_letters set created_at = created_at - $1,
        first_failed_at = first_failed_at - $1, failed_at = failed_at - $1,
        replay_at = replay_at - $1, resolved_at = resolved_at - $1
)
update jobkit.schedules set next_at = next_at - $1, last_at = last_at - $1
