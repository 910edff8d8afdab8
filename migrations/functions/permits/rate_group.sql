-- rate_group: sets an operator's rate for every key of a group, which overrides what workers
-- announce: the time from one slot to the next ('0': no rate), and the burst that may be taken at
-- once after a rest; null removes it. A `sweep` must follow. Returns false if no worker has
-- announced the group.
create or replace function jobkit.rate_group(
    p_group text, p_rate interval, p_burst integer, p_actor text default null
) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
declare
    v_rate constant interval := jobkit.require_rate(p_rate, p_burst);
    v_before interval;
begin
    perform jobkit.require_read_committed();
    lock table jobkit.concurrency_groups in exclusive mode;
    select g.override_rate into v_before from jobkit.concurrency_groups g where g.name = p_group;
    if not found then
        return false;
    end if;
    update jobkit.concurrency_groups g
    set override_rate = v_rate, override_burst = case when v_rate is not null then p_burst end,
        changed_at = clock_timestamp()
    where g.name = p_group;
    perform jobkit.note(p_actor, 'rate', 'concurrency_group', null,
        jsonb_build_object('every', v_rate, 'burst', p_burst, 'before', v_before), p_group);
    return true;
end
$$;
