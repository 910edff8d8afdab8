-- A page of the ended jobs of a listing, the newest job first; as jobs_list.sql, which see.
-- $1 listing, $2 the place before it, null for the beginning; $3 how many are looked at, $4 how
-- many at most; null for any: $5 kind, $6 queue, $7 tag, $8 group, $9 key, $10 part of an error,
-- $11 worker, $12 id; $13 paths and $14 values of the payload, $15 whether hidden ones count
with looked_at as materialized (
    select row_number() over () as nth, f.job_id, f.expires_at,
        ($5::text is null or f.kind = $5) and ($6::text is null or f.queue = $6)
            and ($7::text is null or $7 = any (f.tags))
            and ($8::text is null or f.concurrency_group = $8)
            and ($9::text is null or f.concurrency_key = $9)
            and ($11::bigint is null or f.worker_id = $11)
            and ($10::text is null or position(lower($10) in lower(f.reason)) > 0
                or exists (select from jsonb_array_elements(f.errors) e (value)
                    where position(lower($10) in lower(e.value ->> 'error')) > 0))
            and (cardinality($13::text[]) = 0
                or jobkit.has_args(f.kind, f.args, $13, $14, $15)) as meant
    from jobkit.ended_in($1, ($2::text::jsonb ->> 0)::bigint, $3, $12) f
), page as (
    select * from looked_at l where l.meant order by l.nth limit $4
)
select n.*, f.job_id as id, f.kind, f.queue, f.priority, f.attempt, f.max_attempts,
    false as cancel_requested, f.run_at, f.created_at, f.concurrency_group, f.concurrency_key,
    f.tags, 'finished' as state, left(coalesce(f.reason, f.errors -> -1 ->> 'error'), 300) as error,
    f.outcome, f.worker_id, f.finished_at as since, f.took
from (
    select count(*) filter (where l.meant) as meant, count(*) as looked_at,
        (select jsonb_build_array(p.job_id)::text from page p order by p.nth offset $4 - 1)
            as page_end,
        (select jsonb_build_array(l.job_id)::text from looked_at l where l.nth = $3) as search_end
    from looked_at l
) n
left join page p on true
left join jobkit.finished f on f.job_id = p.job_id and f.expires_at = p.expires_at
order by p.nth
