-- require_terms: refuses invalid terms of a job. They are an object of
--   expires    seconds after its time within which it may begin
--   retry_for  seconds after its first failure within which it is retried
--   topic      the topic to which it was published
--   carried    named texts, passed from the enqueue to the handler
create or replace function jobkit.require_terms(p_terms jsonb[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    perform jobkit.refuse(min(case
        when jsonb_typeof(t.terms) <> 'object' then 'the terms of a job are not an object'
        when octet_length(t.terms::text) > 16384 then
            'the terms of a job may have 16384 bytes at most, not ' || octet_length(t.terms::text)
        when exists (
            select from jsonb_each(t.terms) as e (key, value)
            where case when e.key in ('expires', 'retry_for') then case jsonb_typeof(e.value)
                    when 'number' then e.value::numeric between 1 and 31622400 end
                when e.key = 'topic' then jsonb_typeof(e.value) = 'string'
                when e.key = 'carried' then jsonb_typeof(e.value) = 'object' and not
                    jsonb_path_exists(e.value, 'strict $.* ? (@.type() != "string")')
                end is not true
        ) then 'the terms of a job are expires and retry_for, 1 to 31622400 seconds each, topic, '
            'and carried' end))
    from unnest(p_terms) as t (terms);
end
$$;
