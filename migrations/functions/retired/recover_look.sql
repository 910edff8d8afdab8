-- recover_look: for the workers of version 29, which ask it whether there are jobs to `recover`,
-- dead letters to `replay_due`, operations to `operate`.
create or replace function jobkit.recover_look(
    out exhausted boolean, out replay_due boolean, out operating boolean
)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_now constant timestamptz := clock_timestamp();
begin
    exhausted := false;
    replay_due := exists (
        select from jobkit.dead_letters d
        where d.state = 'open' and d.replay_at <= v_now
    );
    operating := exists (
        select from jobkit.operations o where o.ended_at is null
    );
end
$$;
