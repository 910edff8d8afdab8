-- limiting: the scopes, `queue` or `kind`, in which a limit or a rate applies to a job. Such a job
-- may get its permit, but only a claim begins it.
--   p_kind  as `versioned` names it
create or replace function jobkit.limiting(p_queue text, p_kind text) returns setof text
language sql stable as $$
    select l.scope from jobkit.limits l
    where l.holds and num_nonnulls(l.running, l.every, l.code_running, l.code_every) > 0
        and l.name = case l.scope when 'queue' then p_queue else jobkit.unversioned(p_kind) end
$$;
