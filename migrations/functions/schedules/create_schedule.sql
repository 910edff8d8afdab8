-- create_schedule: creates an operator's schedule from a JSON object with the columns of
-- `schedules`, except the payload. Settings of its jobs that it omits come from what a binary
-- announced for the kind. Returns whether the name was free; a deleted schedule does not count.
create or replace function jobkit.create_schedule(p_schedule jsonb, p_args text, p_actor text)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_new jobkit.schedules := jsonb_populate_record(null::jobkit.schedules, p_schedule);
    v_kind jobkit.kinds;
begin
    perform jobkit.require_read_committed();
    select * into v_kind from jobkit.kinds k where k.kind = v_new.kind;
    if not found then
        raise exception 'jobkit: nobody has announced the kind "%"', v_new.kind
            using errcode = 'JK003', hint = 'Check the name, or start a worker that has this kind.';
    elsif v_kind.concurrency_group is not null and v_new.concurrency_key is null
        and not v_kind.key_optional then
        raise exception 'jobkit: jobs of the kind "%" need a concurrency key', v_new.kind
            using errcode = 'JK004', hint = 'Give the schedule a concurrency key.';
    elsif v_kind.concurrency_group is null and v_new.concurrency_key is not null then
        raise exception 'jobkit: jobs of the kind "%" take no concurrency key', v_new.kind
            using errcode = 'JK004', hint = 'Leave out the concurrency key.';
    end if;
    v_new.queue := coalesce(v_new.queue, v_kind.queue);
    v_new.priority := coalesce(v_new.priority, v_kind.priority);
    v_new.max_attempts := coalesce(v_new.max_attempts, v_kind.max_attempts);
    v_new.concurrency_group := v_kind.concurrency_group;
    perform jobkit.require_schedule(v_new, p_args), jobkit.require_payload(v_new.kind, p_args);
    delete from jobkit.schedules s where s.name = v_new.name and s.removed_at is not null;
    insert into jobkit.schedules (name, times, next_at, catch_up, catch_up_max, catch_up_window,
        overlap, jitter, kind, version, queue, priority, max_attempts, concurrency_group,
        concurrency_key, dead_letter_key, args, tags, metadata, edited)
    values (v_new.name, v_new.times, v_new.next_at, v_new.catch_up, v_new.catch_up_max,
        v_new.catch_up_window, v_new.overlap, v_new.jitter, v_new.kind, v_new.version,
        v_new.queue, v_new.priority, v_new.max_attempts, v_new.concurrency_group,
        v_new.concurrency_key, v_new.dead_letter_key, p_args::json, v_new.tags, v_new.metadata,
        '{times,catch_up,overlap,jitter,args,queue,job}')
    on conflict (name) do nothing;
    if not found then
        return false;
    end if;
    if v_new.next_at is not null then
        perform jobkit.wake_due(v_new.next_at);
    end if;
    perform jobkit.note(p_actor, 'create', 'schedule', null,
        jsonb_build_object('times', v_new.times, 'kind', v_new.kind), v_new.name);
    return true;
end
$$;
