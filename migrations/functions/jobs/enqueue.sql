-- enqueue: stores one job, for triggers and other languages. Omitted arguments take the values that
-- a binary announced for the kind.
--   p_version     the version of the payload; 1 if omitted
--   p_unique_key  returns the job that has the key; the setting `jobkit.answer` of this transaction
--                 says whether it is new
-- Runs as the owner, for roles that may only enqueue. What users may rely on: docs/sql.md.
--   select jobkit.enqueue('send_receipt', '{"order_id": 7}', p_run_at => now() + '1 hour');
create or replace function jobkit.enqueue(
    p_kind text, p_args jsonb default '{}', p_queue text default null,
    p_run_at timestamptz default null, p_priority integer default null,
    p_max_attempts integer default null, p_concurrency_key text default null,
    p_tags text[] default null, p_metadata jsonb default null,
    p_dead_letter_key text default null, p_version integer default null,
    p_unique_key text default null, p_unique_while text default null,
    p_unique_for interval default null, p_on_duplicate text default null,
    p_unique_group text default null, p_coalesce_key text default null,
    p_coalesce_group text default null, p_terms jsonb default null
) returns bigint
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_kind jobkit.kinds;
    v_bytes constant integer := octet_length(concat(p_args, p_metadata));
    v_job jobkit.new_job;
    v_unique record;
begin
    select * into v_kind from jobkit.kinds k where k.kind = p_kind;
    if not found then
        raise exception 'jobkit: nobody has announced the kind "%"', p_kind
            using errcode = 'JK003', hint = 'Check the name. If it is right, start a worker that '
                'has this job, or call jobkit::announce(&pool) from its binary.';
    end if;
    if v_kind.concurrency_group is not null and p_concurrency_key is null
        and not v_kind.key_optional then
        raise exception 'jobkit: jobs of the kind "%" need a concurrency key', p_kind
            using errcode = 'JK004', hint = 'Pass p_concurrency_key => ….';
    elsif v_kind.concurrency_group is null and p_concurrency_key is not null then
        raise exception 'jobkit: jobs of the kind "%" take no concurrency key', p_kind
            using errcode = 'JK004', hint = 'Leave out p_concurrency_key.';
    end if;
    if v_bytes > 1024 * 1024 then
        raise exception 'jobkit: payload and metadata have % bytes; the limit is 1048576', v_bytes
            using errcode = 'JK005', hint = 'Store the large part elsewhere and pass its key.';
    end if;
    perform jobkit.refuse(jobkit.wrong_with(p_kind, coalesce(p_queue, v_kind.queue),
        coalesce(p_priority, v_kind.priority), coalesce(p_max_attempts, v_kind.max_attempts),
        v_kind.concurrency_group, p_concurrency_key, p_dead_letter_key,
        case when p_args is not null then '{}' end, null, p_version)),
        jobkit.require_shape(p_kind, v_kind.takes_text, p_args),
        case when v_kind.redact <> '{}' then jobkit.require_sealed(p_kind, p_args) end;
    perform jobkit.refuse(case
        when p_unique_key is null and (p_unique_while, p_unique_for, p_on_duplicate,
            p_unique_group) is distinct from (null::text, null::interval, null::text, null::text)
            then 'p_unique_while, p_unique_for, p_on_duplicate and p_unique_group need a unique '
                'key: pass p_unique_key => …, or leave them out'
        when p_coalesce_key is null and p_coalesce_group is not null
            then 'p_coalesce_group needs a key: pass p_coalesce_key => …, or leave it out'
        when p_coalesce_key is not null and p_unique_key is not null
            then 'a job can have p_unique_key or p_coalesce_key, not both: leave one out' end);
    v_job := jobkit.new_job(p_kind => p_kind, p_queue => coalesce(p_queue, v_kind.queue),
        p_priority => coalesce(p_priority, v_kind.priority)::smallint,
        p_max_attempts => coalesce(p_max_attempts, v_kind.max_attempts)::smallint,
        p_args => p_args::text, p_run_at => p_run_at,
        p_concurrency_group => v_kind.concurrency_group, p_concurrency_key => p_concurrency_key,
        p_dead_letter_key => p_dead_letter_key, p_tags => p_tags, p_metadata => p_metadata,
        p_version => nullif(p_version, 1)::smallint, p_terms => p_terms);
    if coalesce(p_unique_key, p_coalesce_key) is null then
        return jobkit.enqueue_all(jobkit.new_jobs_of(v_job));
    end if;
    v_job.unique_scope := coalesce(p_unique_group, p_coalesce_group, p_kind);
    v_job.unique_key := coalesce(p_unique_key, p_coalesce_key);
    if p_unique_key is not null then
        v_job.unique_while := coalesce(p_unique_while, 'unfinished');
        v_job.unique_for := p_unique_for;
        v_job.on_duplicate := coalesce(p_on_duplicate, 'skip');
    else
        v_job.unique_while := 'coalesce';
    end if;
    select * into v_unique from jobkit.enqueue_unique(jobkit.new_jobs_of(v_job));
    if p_unique_key is not null then
        perform set_config('jobkit.answer', v_unique.answer, true);
    end if;
    return v_unique.job_id;
end
$$;
revoke all on function jobkit.enqueue from public;
