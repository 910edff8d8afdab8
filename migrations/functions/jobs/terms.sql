-- terms: the time limits of a job, or else of its kind: how long after it is due it may still
-- begin, and how long after its first failure it is retried. A value that is not a number is
-- ignored.
create or replace function jobkit.terms(
    p_kind text, p_terms jsonb, out expires interval, out retry_for interval
)
language sql stable as $$
    select coalesce(jobkit.seconds(p_terms -> 'expires'), k.expires),
        coalesce(jobkit.seconds(p_terms -> 'retry_for'), k.retry_for)
    from (select p_kind as kind) p left join jobkit.kinds k on k.kind = p.kind
$$;
