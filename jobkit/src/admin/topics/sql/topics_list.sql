-- The kinds that subscribe to topics, by topic and kind, 1,000 at most; and how many live workers
-- know each, in any version of its payload.
with knows as materialized (
    select distinct w.id, jobkit.unversioned(n.name) as kind
    from jobkit.workers w, unnest(w.kinds) as n (name)
    where not w.stopping and w.lease_until > now()
)
select s.topic, s.kind, s.subscribed_at, s.announced_at,
    (select count(*) from knows n where n.kind = s.kind) as workers
from jobkit.subscriptions s
order by s.topic, s.kind limit 1000
