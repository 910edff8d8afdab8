-- Our tables in which row security may hide rows from this role: there is no policy that allows
-- everything, or a restrictive one.
select c.relname::text
from pg_class c
where c.relnamespace = 'jobkit'::regnamespace and c.relkind in ('r', 'p')
    and row_security_active(c.oid)
    and (exists (select from pg_policy p where p.polrelid = c.oid and not p.polpermissive)
        or not exists (
            select from pg_policy p
            where p.polrelid = c.oid and p.polcmd = '*'
                and pg_get_expr(p.polqual, c.oid) = 'true'
                and coalesce(pg_get_expr(p.polwithcheck, c.oid), 'true') = 'true'
                and exists (select from unnest(p.polroles) r
                    where r = 0 or pg_has_role(r, 'usage'))))
order by 1
