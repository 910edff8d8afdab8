-- The functions that make records of jobs and outcomes, written from the columns of their types:
--   new_job, new_jobs, outcomes  a record of named parameters: `new_job(p_kind => $1, …)`
--   new_jobs_of                  one job in the form of many
--   new_jobs_at                  the job at this place, out of many
-- They are inlined; if they were IMMUTABLE, a plan for given values would fold them into a constant
-- and copy all payloads.
do $records$
declare
    v_made record;
begin
    for v_made in
        with columns as (
            select t.typname as record, a.attname as name, a.attnum as at, a.atttypid as type,
                a.atttypid::regtype::text like '%[]' as is_array
            from pg_type t join pg_attribute a on a.attrelid = t.typrelid
            where t.typnamespace = 'jobkit'::regnamespace and a.attnum > 0 and not a.attisdropped
                and t.typname in ('new_job', 'new_jobs', 'outcomes')
        )
        select c.record as function, c.record, string_agg(format('p_%s %s default %s', c.name,
                c.type::regtype, case when c.is_array and c.record <> 'new_job' then '''{}'''
                    else 'null' end), ', ' order by c.at) as parameters,
            string_agg('p_' || c.name, ', ' order by c.at) as columns
        from columns c group by c.record
        union all
        -- Arrays within one have to have one length, so an array becomes JSON.
        select 'new_jobs_of', 'new_jobs', 'p jobkit.new_job', string_agg(format(case
                when o.name is null then 'null'
                when t.typarray = c.type then 'array[p.%s]'
                else 'array[pg_catalog.to_jsonb(p.%s)]' end, c.name), ', ' order by c.at)
        from columns c left join columns o on o.record = 'new_job' and o.name = c.name
        left join pg_type t on t.oid = o.type
        where c.record = 'new_jobs'
        union all
        select 'new_jobs_at', 'new_jobs', 'p jobkit.new_jobs, p_at integer',
            string_agg(format(case when c.is_array then 'p.%s[p_at:p_at]' else 'p.%s' end, c.name),
                ', ' order by c.at)
        from columns c where c.record = 'new_jobs'
    loop
        -- An earlier one with fewer parameters: which of the two is meant, nobody could tell.
        execute coalesce((
            select string_agg(format('drop function %s', p.oid::regprocedure), '; ')
            from pg_proc p
            where p.pronamespace = 'jobkit'::regnamespace and p.proname = v_made.function
                and p.pronargs <> cardinality(string_to_array(v_made.parameters, ', '))
        ), 'select');
        execute format('create or replace function jobkit.%s(%s) returns jobkit.%s language sql '
            'stable as $$ select row(%s)::jobkit.%3$s $$', v_made.function, v_made.parameters,
            v_made.record, v_made.columns);
    end loop;
end
$records$;
