-- Tables of ours in which a publication prevents updates and deletes, since they have no replica
-- identity. Publications are looked up for such tables only: the server lists all of them.
select c.relname::text as name
from pg_class c
left join pg_inherits i on i.inhrelid = c.oid
where c.relnamespace = 'jobkit'::regnamespace and c.relkind = 'r' and c.relreplident <> 'f'
    and not exists (
        select from pg_index x where x.indrelid = c.oid and x.indisvalid
            and case c.relreplident when 'd' then x.indisprimary else x.indisreplident end
    )
    and exists (
        select from pg_publication_tables p
        join pg_publication b on b.pubname = p.pubname and (b.pubupdate or b.pubdelete)
        join pg_class t on t.relname = p.tablename and t.relnamespace = c.relnamespace
        where p.schemaname = 'jobkit' and t.oid in (c.oid, i.inhparent)
    )
order by c.relname limit 100
