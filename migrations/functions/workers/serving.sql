-- serving: the workers that run jobs of this queue and kind; none while the queue, the kind or
-- everything is paused. A worker serves from its registration until it begins to stop or is reaped.
-- This depends on tables and not on a clock, so that the basis of a grant changes only by a commit.
create or replace function jobkit.serving(p_queue text, p_kind text) returns setof bigint
language sql stable as $$
    select w.id from jobkit.workers w
    where not w.stopping and p_kind = any (w.kinds)
        and (p_queue = any (w.queues) or p_queue ^@ any (w.prefixes))
        and not exists (
            select from jobkit.limits l where l.holds and l.paused_at is not null
                and l.name = case l.scope when 'queue' then p_queue
                    when 'kind' then jobkit.unversioned(p_kind) else '' end
        )
$$;
