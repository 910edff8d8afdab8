-- key_holder: the job in the row of a unique key, and how it holds the key, at one moment:
--   waits      until it is claimed, and may be changed (`changeable`)
--   blocked    for a permit, or it has one already: it is not changed any more
--   runs
--   kept       it has ended, or runs and had its key while it was queued: for `unique_for`
--   yields     it waits for another attempt and had its key while it ran: a new job takes its place
--   free       it does not: its row was left behind
-- No row: nobody has it. One that is marked as cancelled holds nothing.
create or replace function jobkit.key_holder(
    p_scope text, p_key text, out job_id bigint, out state text, out changeable boolean,
    out kind text
)
language plpgsql as $$
begin
    select u.job_id, case
            when h.place is null then case when u.held_until > clock_timestamp() then 'kept'
                else 'free' end
            when h.place = 'runs' and j.unique_while = 'queued' then
                case when u.held_until > clock_timestamp() then 'kept' else 'free' end
            when h.place = 'waits' and j.unique_while = 'running' and j.attempt + j.snoozes > 0
                and j.dead_letter_id is null then 'yields'
            else h.place end, j.dead_letter_id is null, j.kind
    into job_id, state, changeable, kind
    from jobkit.unique_keys u
    left join lateral (
        select * from jobkit.jobs j where j.id = u.job_id and j.cancel_requested_at is null offset 0
    ) j on true
    cross join lateral (
        select case
            when j.id is null then null
            when exists (
                select from jobkit.ready r where r.queue = j.queue and r.priority = j.priority
                    and r.without_permit and r.job_id = j.id
            ) or exists (
                select from jobkit.scheduled s where s.run_at = j.run_at and s.job_id = j.id
            ) then 'waits'
            when j.concurrency_key is not null and (exists (
                select from jobkit.ready r where r.queue = j.queue and r.priority = j.priority
                    and not r.without_permit and r.job_id = j.id
            ) or exists (
                select from jobkit.blocked_executions b
                where b.concurrency_group = j.concurrency_group
                    and b.concurrency_key = j.concurrency_key
                    and b.priority = j.priority and b.job_id = j.id
            )) then 'blocked'
            -- A live job is in one place.
            else 'runs' end as place
    ) h
    where u.scope = p_scope and u.key = p_key;
end
$$;
