-- require_schedule: refuses a schedule whose jobs no claim would find or no worker could run.
create or replace function jobkit.require_schedule(p_schedule jobkit.schedules, p_args text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    perform jobkit.refuse(coalesce(
        case when octet_length(p_schedule.name) between 1 and 128 is not true then
            'the name of a schedule must have 1 to 128 bytes, not '
                || coalesce(octet_length(p_schedule.name), 0) end,
        jobkit.wrong_with(p_schedule.kind, p_schedule.queue, p_schedule.priority,
            p_schedule.max_attempts, p_schedule.concurrency_group, p_schedule.concurrency_key,
            p_schedule.dead_letter_key, p_args, p_schedule.metadata, p_schedule.version)));
    if p_schedule.tags is not null then
        perform jobkit.require_tags(array[to_jsonb(p_schedule.tags)]);
    end if;
end
$$;
