-- declare_schedules: stores the schedules that a binary declares in code, as an array of JSON
-- objects with the columns of `schedules` (intervals as such), and in `next_at` the first instant
-- of `times`.
-- An operator's changes stay, and so do deletions. Schedules not named here are not touched:
-- another binary may declare them. Nor are schedules of a declaration newer than p_declaration,
-- while a worker that made it lives.
-- Schedules are locked by name, so that two binaries that start at once take turns. Returns those
-- with changed times: the declared times, those of p_schedules, and whether the former stay.
create or replace function jobkit.declare_schedules(
    p_schedules jsonb, p_args text[], p_declaration bigint default null
) returns table (schedule text, declared text, says text, stays boolean)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_new record;
    v_old jobkit.schedules;
begin
    perform jobkit.require_read_committed();
    for v_new in
        select r.*, p_args[d.n] as payload, r as whole
        from jsonb_array_elements(p_schedules) with ordinality as d (schedule, n)
        cross join lateral jsonb_populate_record(null::jobkit.schedules, d.schedule) r
        order by r.name
    loop
        perform jobkit.require_schedule(v_new.whole, v_new.payload);
        -- A session that fires skips a locked row.
        select * into v_old from jobkit.schedules s where s.name = v_new.name for update;
        stays := coalesce(p_declaration < v_old.declaration, false) and exists (
            select from jobkit.workers w
            where w.declaration = v_old.declaration and not w.stopping
                and w.lease_until > clock_timestamp()
        );
        if v_old.times <> v_new.times and v_old.removed_at is null
            and 'times' <> all (v_old.edited)
        then
            select v_new.name, v_old.times, v_new.times into schedule, declared, says;
            return next;
            -- What is due by the old times is missed.
            perform jobkit.miss_due(v_new.name, v_new.next_at) where not stays;
        end if;
        continue when stays;
        insert into jobkit.schedules as s (name, times, next_at, catch_up, catch_up_max,
            catch_up_window, overlap, jitter, kind, version, queue, priority, max_attempts,
            concurrency_group, concurrency_key, dead_letter_key, args, tags, metadata, declared_at,
            declaration)
        values (v_new.name, v_new.times, v_new.next_at, v_new.catch_up, v_new.catch_up_max,
            v_new.catch_up_window, v_new.overlap, v_new.jitter, v_new.kind, v_new.version,
            v_new.queue, v_new.priority, v_new.max_attempts, v_new.concurrency_group,
            v_new.concurrency_key, v_new.dead_letter_key, v_new.payload::json, v_new.tags,
            v_new.metadata, clock_timestamp(), p_declaration)
        on conflict (name) do update set
            -- Another binary, or other time zone rules, may have computed a later one.
            next_at = case when 'times' = any (s.edited) then s.next_at
                when s.times = v_new.times then least(s.next_at, v_new.next_at)
                else v_new.next_at end,
            times = case when 'times' = any (s.edited) then s.times else v_new.times end,
            catch_up = case when 'catch_up' = any (s.edited) then s.catch_up
                else v_new.catch_up end,
            catch_up_max = case when 'catch_up' = any (s.edited) then s.catch_up_max
                else v_new.catch_up_max end,
            catch_up_window = case when 'catch_up' = any (s.edited) then s.catch_up_window
                else v_new.catch_up_window end,
            overlap = case when 'overlap' = any (s.edited) then s.overlap else v_new.overlap end,
            jitter = case when 'jitter' = any (s.edited) then s.jitter else v_new.jitter end,
            kind = case when 'args' = any (s.edited) then s.kind else v_new.kind end,
            version = case when 'args' = any (s.edited) then s.version else v_new.version end,
            args = case when 'args' = any (s.edited) then s.args else v_new.payload::json end,
            concurrency_key = case when 'args' = any (s.edited) then s.concurrency_key
                else v_new.concurrency_key end,
            dead_letter_key = case when 'args' = any (s.edited) then s.dead_letter_key
                else v_new.dead_letter_key end,
            queue = case when 'queue' = any (s.edited) then s.queue else v_new.queue end,
            concurrency_group = case when 'args' = any (s.edited) then s.concurrency_group
                else v_new.concurrency_group end,
            priority = case when 'job' = any (s.edited) then s.priority else v_new.priority end,
            max_attempts = case when 'job' = any (s.edited) then s.max_attempts
                else v_new.max_attempts end,
            tags = case when 'job' = any (s.edited) then s.tags else v_new.tags end,
            metadata = case when 'job' = any (s.edited) then s.metadata else v_new.metadata end,
            declared_at = clock_timestamp(),
            declaration = coalesce(p_declaration, s.declaration);
        perform jobkit.undecide(array[v_new.name]);
    end loop;
end
$$;
