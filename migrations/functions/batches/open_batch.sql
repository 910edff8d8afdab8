-- open_batch: creates a batch with its callbacks, which wait until it ends, and returns its id.
--   p_roles  the role of each callback: `then`, `if_all` or `else`
-- It may be filled (`add_to_batch`) until it is closed (`close_batch`). Runs as the owner, for
-- roles that may only enqueue.
create or replace function jobkit.open_batch(
    p jobkit.new_jobs, p_roles text[] default '{}', p_hold_dead boolean default false
) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    v_batch constant bigint := nextval('jobkit.batches_id_seq');
    v_ids bigint[];
    v_taken bigint;
begin
    perform jobkit.refuse(case
        when cardinality(p_roles) <> cardinality(p.kind)
            or (select count(distinct r) <> count(*) from unnest(p_roles) r)
            or not p_roles <@ '{then,if_all,else}'
            then 'the callbacks of a batch have one role each: then, if_all or else'
        when array_remove(p.delay, null) <> '{}' or array_remove(p.run_at, null) <> '{}'
            then 'a callback runs when its batch has ended, not at a time: leave out the delay'
        when 'coalesce' = any (p.unique_while)
            then 'a callback cannot coalesce: leave out its coalesce key' end);
    if p_roles <> '{}' then
        p.delay := '{}';
        p.run_at := array_fill(jobkit.parked(), array[cardinality(p_roles)]);
        p.callback_of := v_batch;
        select array_agg(e.job_id), min(e.job_id) filter (where e.answer <> 'enqueued')
        into v_ids, v_taken
        from jobkit.enqueue_unique(p) e;
        v_taken := coalesce(v_taken,
            (select min(u.job_id) from jobkit.unique_keys u where u.follower_id = any (v_ids)));
        if v_taken is not null then
            raise exception 'jobkit: job % has the unique key of a callback', v_taken
                using errcode = 'JK012', hint = 'Give each batch a callback with a key of its own, '
                    'or wait until that job has ended.';
        end if;
    end if;
    insert into jobkit.batches (id, created_at, hold_dead, then_job, if_all_job, else_job)
    values (v_batch, clock_timestamp(), p_hold_dead, v_ids[array_position(p_roles, 'then')],
        v_ids[array_position(p_roles, 'if_all')], v_ids[array_position(p_roles, 'else')]);
    return v_batch;
end
$$;
revoke all on function jobkit.open_batch from public;
