-- sequences_behind: our sequences, found in the catalogue, that would give out ids already taken: a
-- copy by logical replication has rows, but not the state of sequences. `taken` is the greatest
-- existing id, `behind` how far the sequence lags. Ids of jobs live on in the history.
create or replace function jobkit.sequences_behind()
returns table (name text, taken bigint, behind bigint)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_one record;
begin
    for v_one in
        select s.oid, s.relname as name, t.relname as tab, a.attname as col
        from pg_class s
        join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = s.oid
            and d.refclassid = 'pg_class'::regclass and d.deptype in ('a', 'i')
        join pg_class t on t.oid = d.refobjid
        join pg_attribute a on a.attrelid = t.oid and a.attnum = d.refobjsubid
        where s.relkind = 'S' and s.relnamespace = 'jobkit'::regnamespace
        order by s.relname
    loop
        execute format('select x.%1$I from jobkit.%2$I x order by x.%1$I desc limit 1',
            v_one.col, v_one.tab) into taken;
        if v_one.tab = 'jobs' then
            taken := greatest(taken,
                (select f.job_id from jobkit.finished f order by f.job_id desc limit 1),
                (select l.job_id from jobkit.dead_letters l order by l.job_id desc limit 1));
        end if;
        name := v_one.name;
        behind := taken - coalesce(pg_sequence_last_value(v_one.oid), 0);
        if behind > 0 then
            return next;
        end if;
    end loop;
end
$$;
