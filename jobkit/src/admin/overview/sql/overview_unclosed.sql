-- Batches that were opened more than a day ago and never closed, and that have no live member, the
-- oldest first: 100 at most, among the oldest 1,000 that have not ended.
select b.id, b.created_at, (extract(epoch from now() - b.created_at) * 1000000)::bigint as ago
from (
    select b.id, b.created_at, b.closed_at from jobkit.batches b
    where b.ended_at is null order by b.id limit 1000
) b
where b.closed_at is null and b.created_at < now() - interval '1 day'
    and not exists (select from jobkit.jobs j where j.batch_id = b.id)
order by b.id limit 100
