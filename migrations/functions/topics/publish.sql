-- publish: enqueues a job for each kind that subscribes to a topic, in the caller's transaction;
-- none if nobody subscribes. For triggers and other languages.
--   p_version  the version of the payload
-- Returns the jobs. Runs as the owner, for roles that may enqueue. What users may rely on:
-- docs/sql.md.
--   select jobkit.publish('order.paid', '{"order": 7}');
create or replace function jobkit.publish(
    p_topic text, p_args jsonb default '{}', p_version integer default null,
    p_metadata jsonb default null, p_terms jsonb default null
) returns setof bigint
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_bytes constant bigint :=
        octet_length(p_args::text) + coalesce(octet_length(p_metadata::text), 0);
begin
    if v_bytes > 1024 * 1024 then
        raise exception 'jobkit: payload and metadata have % bytes; the limit is 1048576', v_bytes
            using errcode = 'JK005', hint = 'Store the large part elsewhere and pass its key.';
    end if;
    perform jobkit.refuse(case when p_args is null then 'the payload is null'
        when octet_length(p_topic) between 1 and 128 is not true then
            'the name of a topic must have 1 to 128 bytes, not '
                || coalesce(octet_length(p_topic), 0)
        when p_version not between 1 and 32767 then
            'a version must be 1 to 32767, not ' || p_version
        when jsonb_typeof(p_metadata) <> 'object' then
            'the metadata must be a JSON object' end);
    perform jobkit.require_shape(k.kind, k.takes_text, p_args)
    from jobkit.subscriptions s join jobkit.kinds k on k.kind = s.kind
    where s.topic = p_topic and jsonb_typeof(p_args) = 'string';
    return query select f.job_id
    from jobkit.fan_out(p_topic, p_args::text, nullif(p_version, 1)::smallint, p_metadata,
        p_terms) as f;
end
$$;
revoke all on function jobkit.publish from public;
