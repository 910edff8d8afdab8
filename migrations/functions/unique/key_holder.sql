-- key_holder: the job in the row of a unique key, and how it holds the key now. Returns nulls if
-- there is no row: nobody holds the key. Otherwise job_id, its kind, and state:
--   waits    it holds the key until it is claimed
--   blocked  it waits for a permit, or already has one: it is not changed any more
--   runs     it runs
--   ends     it is marked as cancelled, and holds the key until it ends
--   kept     by `unique_for`: it ended, or it runs and held the key only while queued
--   yields   it waits to be retried and held the key while it ran: a new job replaces it
--   free     it does not hold the key: the row was left behind, or the job has another key
-- Returns also changeable: it replays no dead letter and is no callback of a batch; kept:
-- `unique_for` is not over (longer than allowed counts as over); late: it waits, is next of its
-- kind (`next_of_kind`), and was due before the last five seconds, or is ready before it is due
-- (the clock stepped back).
create or replace function jobkit.key_holder(
    p_scope text, p_key text, out job_id bigint, out state text, out changeable boolean,
    out kind text, out late boolean, out kept boolean
)
language plpgsql as $$
begin
    select u.job_id, case
            when h.place is null then case when w.kept and u.job_id > 0 then 'kept'
                else 'free' end
            when h.place = 'runs' and j.unique_while = 'queued' then
                case when w.kept and j.cancel_requested_at is null then 'kept' else 'free' end
            when j.cancel_requested_at is not null then 'ends'
            when h.place in ('ready', 'scheduled') and j.unique_while = 'running'
                and j.attempt + j.snoozes > 0 and j.dead_letter_id is null
                and not w.kept then 'yields'
            when h.place in ('ready', 'scheduled') then 'waits'
            else h.place end, coalesce(j.dead_letter_id, j.callback_of) is null, j.kind,
        case when (h.place = 'ready' or h.place = 'scheduled' and j.run_at <= clock_timestamp())
                and coalesce(j.due_since, j.run_at)
                    not between clock_timestamp() - interval '5 seconds' and clock_timestamp()
            then jobkit.next_of_kind(
                j.queue, j.priority, jobkit.versioned(j.kind, j.version), j.id)
            else false end, w.kept
    into job_id, state, changeable, kind, late, kept
    from jobkit.unique_keys u
    left join lateral (
        select * from jobkit.jobs j
        where j.id = u.job_id and j.unique_scope = u.scope and j.unique_key = u.key offset 0
    ) j on true
    cross join lateral (
        select (u.held_until > clock_timestamp()
            and u.held_until < clock_timestamp() + interval '367 days') is true as kept
    ) w
    cross join lateral (
        select case
            when j.id is null then null
            when exists (
                select from jobkit.ready r where r.queue = j.queue and r.priority = j.priority
                    and r.without_permit and r.job_id = j.id
            ) then 'ready'
            when exists (
                select from jobkit.scheduled s where s.run_at = j.run_at and s.job_id = j.id
            ) then 'scheduled'
            when j.concurrency_key is not null and (exists (
                select from jobkit.ready r where r.queue = j.queue and r.priority = j.priority
                    and not r.without_permit and r.job_id = j.id
            ) or exists (
                select from jobkit.blocked_executions b
                where b.concurrency_group = j.concurrency_group
                    and b.concurrency_key = j.concurrency_key
                    and b.priority = j.priority and b.job_id = j.id
            )) then 'blocked'
            -- A live job is in exactly one place.
            else 'runs' end as place
    ) h
    where u.scope = p_scope and u.key = p_key;
end
$$;
