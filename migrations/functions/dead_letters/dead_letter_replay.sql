-- dead_letter_replay: for operators; returns the new job, or says why there is none.
--   select jobkit.dead_letter_replay(17);
--   select jobkit.dead_letter_replay(17, p_queue => 'slow', p_run_at => now() + '1 hour');
create or replace function jobkit.dead_letter_replay(
    p_id bigint, p_queue text default null, p_run_at timestamptz default null,
    p_args jsonb default null, p_max_attempts integer default null, p_actor text default null
) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_replay record;
begin
    if octet_length(p_args::text) > 1024 * 1024 then
        raise exception 'jobkit: the payload has % bytes; 1048576 are allowed',
            octet_length(p_args::text) using errcode = 'JK005';
    end if;
    select * into v_replay from jobkit.replay(p_id, coalesce(p_actor, session_user), p_queue,
        p_run_at, p_args, p_max_attempts);
    if v_replay.outcome = 'missing' then
        raise exception 'jobkit: there is no dead letter %', p_id using errcode = 'JK006';
    elsif v_replay.outcome = 'already' then
        raise exception 'jobkit: dead letter % is replayed already', p_id
            using errcode = 'JK007', detail = 'Job ' || v_replay.job_id || ' replays it.';
    elsif v_replay.outcome = 'resolved' then
        raise exception 'jobkit: dead letter % is resolved', p_id
            using errcode = 'JK007', detail = 'Job ' || v_replay.job_id || ' succeeded.';
    end if;
    return v_replay.job_id;
end
$$;
