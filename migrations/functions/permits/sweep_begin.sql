-- sweep_begin: `due` tells the first caller that a periodic sweep is due and has something to look
-- at; `explained` tells whether a start, a resume or a changed limit since the last sweep explains
-- what it may find. If the last sweep began later than now, the clock stepped back: the next is
-- due, and everything it finds is explained. Also looks at unique keys that have a follower.
create or replace function jobkit.sweep_begin(
    p_every interval, out due boolean, out explained boolean
)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_last timestamptz;
begin
    select s.began_at into v_last from jobkit.sweeps s
    where clock_timestamp() not between s.began_at and s.began_at + p_every
    for update skip locked;
    due := found;
    -- A start is recorded a moment before its commit, and its own sweep follows a moment later.
    v_last := v_last - interval '10 s';
    explained := (v_last > clock_timestamp() - interval '10 s') is true
        or exists (select from jobkit.workers w where w.started_at > v_last)
        or exists (select from jobkit.limits l where l.changed_at > v_last);
    update jobkit.sweeps s set began_at = clock_timestamp() where due;
    if due then
        perform jobkit.follow_left(10000);
    end if;
    due := due and (
        exists (select from jobkit.permits)
        or exists (select from jobkit.blocked_executions)
        or exists (select from jobkit.jobs j where j.cancel_requested_at is not null)
    );
end
$$;
