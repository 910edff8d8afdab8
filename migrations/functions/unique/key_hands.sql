-- key_hands: the sessions with an open transaction that has this waiting job locked, so that claims
-- and the promoter skip it; usually producers that found or changed it. `since` is null if this
-- role may not see it. A lock of several sessions has a multixact id, which looks the same as a
-- transaction id: it counts as a transaction if one of that id is open.
create or replace function jobkit.key_hands(p_job bigint)
returns table (pid integer, application text, since timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_lock xid;
    v_open xid[];
begin
    select coalesce((
        select r.xmax from jobkit.ready r where r.queue = j.queue and r.priority = j.priority
            and r.without_permit and r.job_id = j.id
    ), (
        select s.xmax from jobkit.scheduled s where s.run_at = j.run_at and s.job_id = j.id
    )) into v_lock
    from jobkit.jobs j where j.id = p_job;
    if v_lock is null or v_lock = '0' then
        return;
    end if;
    v_open := array(select l.transactionid from pg_locks l
        where l.locktype = 'transactionid' and l.granted and l.mode = 'ExclusiveLock');
    if v_lock = any (v_open) then
        v_open := array[v_lock];
    else
        begin
            v_open := array(select m.xid from pg_get_multixact_members(v_lock) m);
        exception when others then
            return;                              -- a transaction that has ended
        end;
    end if;
    return query
    select distinct a.pid, a.application_name, a.xact_start from pg_locks l
    join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'transactionid' and l.granted and l.mode = 'ExclusiveLock'
        and l.transactionid = any (v_open) and a.pid <> pg_backend_pid()
    order by 3, 1;
end
$$;
