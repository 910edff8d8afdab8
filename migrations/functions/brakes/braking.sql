-- braking: the scopes, `queue` or `kind`, in which a limit or a rate applies to a job. Such a job
-- may get its permit, but only a claim begins it.
--   p_kind  as `versioned` names it
create or replace function jobkit.braking(p_queue text, p_kind text) returns setof text
language sql stable as $$
    select b.scope from jobkit.brakes b
    where num_nonnulls(b.running_limit, b.rate_count) > 0
        and b.name = case b.scope when 'queue' then p_queue else jobkit.unversioned(p_kind) end
$$;
