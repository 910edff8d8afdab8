-- replay_due: the automatic replays of kinds that ask for them (auto_replay, max_cycles). Returns
-- how many.
create or replace function jobkit.replay_due(p_limit integer) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    -- A constant: compared with a volatile function, it would read all open dead letters.
    v_now constant timestamptz := clock_timestamp();
    v_due bigint[];
    v_ids bigint[];                              -- those that can be replayed
begin
    perform jobkit.require_read_committed();
    v_due := array(
        select d.id from jobkit.dead_letters d
        where d.state = 'open' and d.replay_at <= v_now
        order by d.replay_at, d.id limit p_limit for update skip locked
    );
    v_ids := jobkit.without_clash(v_due);
    if v_ids <> '{}' then
        perform from jobkit.replay_open(v_ids);
    end if;
    if v_ids <> v_due then
        -- Another job has their unique key: try again when that may have ended.
        update jobkit.dead_letters d set replay_at = v_now + interval '1 min'
        where d.id = any (v_due) and d.id <> all (v_ids);
    end if;
    return cardinality(v_ids);
end
$$;
