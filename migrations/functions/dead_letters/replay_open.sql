-- replay_open: makes a job from each of these open dead letters, which the caller has locked; the
-- earliest failure first. A job gets all its attempts, goes on after the steps of the dead job, and
-- gets the unique key that `retake_key` took in the name of that.
--   p_queue, p_run_at, p_args, p_max_attempts  used instead of what is stored; null: as stored
--   p_concurrency                              {group, key} that belong to p_args; null: as stored
create or replace function jobkit.replay_open(
    p_ids bigint[], p_queue text default null, p_run_at timestamptz default null,
    p_args jsonb default null, p_max_attempts smallint default null,
    p_concurrency text[] default null
) returns table (dead_letter_id bigint, job_id bigint)
language plpgsql as $$
declare
    v_now constant timestamptz := clock_timestamp();
    v_run_at constant timestamptz := coalesce(p_run_at, v_now);
begin
    return query
    with entry as materialized (
        select nextval('jobkit.jobs_id_seq') as new_id, coalesce(p_queue, d.queue) as to_queue,
            case when p_concurrency is null then d.concurrency_group else p_concurrency[1] end
                as grp,
            case when p_concurrency is null then d.concurrency_key else p_concurrency[2] end
                as ckey, d.*
        from (
            select * from jobkit.dead_letters d where d.id = any (p_ids)
            order by d.failed_at, d.id
        ) d
    ), job as (
        insert into jobkit.jobs (id, kind, queue, priority, max_attempts, run_at, created_at,
            concurrency_group, concurrency_key, dead_letter_key, dead_letter_id, generation, args,
            tags, metadata, version, unique_scope, unique_key, unique_while, terms, callback_of)
        select e.new_id, e.kind, e.to_queue, e.priority, coalesce(p_max_attempts, e.max_attempts),
            v_run_at, v_now, e.grp, e.ckey, e.key, e.id, e.generation,
            coalesce(p_args::json, e.args), e.tags, e.metadata, e.version, e.unique_scope,
            e.unique_key, e.unique_while, e.terms, e.callback_of
        from entry e
    ), later as (
        insert into jobkit.scheduled (run_at, job_id)
        select v_run_at, e.new_id from entry e where v_run_at > v_now
    ), replaying as (
        update jobkit.dead_letters d set state = 'replaying', replay_id = e.new_id, replay_at = null
        from entry e where d.id = e.id
    )
    select e.id, e.new_id from entry e;
    update jobkit.unique_keys u set job_id = d.replay_id
    from jobkit.dead_letters d
    where d.id = any (p_ids) and u.scope = d.unique_scope and u.key = d.unique_key
        and u.job_id = d.job_id;
    -- With another payload, what its steps returned may be wrong.
    update jobkit.steps s set job_id = d.replay_id
    from jobkit.dead_letters d
    where d.id = any (p_ids) and s.job_id = d.job_id and p_args is null;
    if v_run_at <= v_now then
        perform jobkit.make_ready(array(
            select d.replay_id from jobkit.dead_letters d where d.id = any (p_ids)
        ));
    else
        perform jobkit.wake_due(v_run_at);
    end if;
    perform jobkit.wake(array(
        select distinct coalesce(p_queue, d.queue) from jobkit.dead_letters d
        where d.id = any (p_ids)
    ));
end
$$;
