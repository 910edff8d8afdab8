-- Replays of dead letters. A replay holds the row of the dead letter: a second caller waits for the
-- first and is told of its job.

-- replay: replays one dead letter. Waits at most a second for a session that holds it.
-- outcome: `replay` with the new job; `already` or `resolved` with the job that replays it, or did;
-- `taken` with the job that has its unique key now; or `missing`.
create or replace function jobkit.replay(
    p_id bigint, p_actor text default null, p_queue text default null,
    p_run_at timestamptz default null, p_args jsonb default null,
    p_max_attempts integer default null, p_concurrency text[] default null,
    out outcome text, out job_id bigint
)
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
as $$
declare
    v_entry record;
begin
    perform jobkit.require_read_committed();
    perform jobkit.refuse(jobkit.wrong_with('kind', coalesce(p_queue, 'queue'), 0,
        coalesce(p_max_attempts, 1), p_concurrency[1], p_concurrency[2], null,
        coalesce(p_args::text, '{}'), null, null));
    perform jobkit.require_time(p_run_at);
    select d.state, d.replay_id, d.generation, d.job_id, d.unique_scope, d.unique_key, d.kind
    into v_entry
    from jobkit.dead_letters d where d.id = p_id for update;
    if not found then
        outcome := 'missing';
    elsif v_entry.state <> 'open' then
        outcome := case v_entry.state when 'replaying' then 'already' else 'resolved' end;
        job_id := v_entry.replay_id;
    else
        perform jobkit.require_payload(v_entry.kind, p_args::text);
        if v_entry.unique_key is not null then
            job_id := jobkit.retake_key(v_entry.unique_scope, v_entry.unique_key, v_entry.job_id);
        end if;
        if job_id is not null then
            outcome := 'taken';
            return;
        end if;
        outcome := 'replay';
        select r.job_id into job_id from jobkit.replay_open(array[p_id], p_queue, p_run_at,
            p_args, p_max_attempts::smallint, p_concurrency) r;
        perform jobkit.note(p_actor, 'replay', 'dead_letter', p_id, jsonb_strip_nulls(
            jsonb_build_object('job', job_id, 'generation', v_entry.generation, 'queue', p_queue,
                'run_at', p_run_at, 'args', p_args, 'max_attempts', p_max_attempts)));
    end if;
end
$$;
