-- terms: what a job, or else its kind, says of its time: how long after it is due it may still
-- begin, and for how long after its first failure it is tried again. What is no number says
-- nothing.
create or replace function jobkit.terms(
    p_kind text, p_terms jsonb, out expires interval, out retry_for interval
)
language sql stable as $$
    select coalesce(jobkit.seconds(p_terms -> 'expires'), k.expires),
        coalesce(jobkit.seconds(p_terms -> 'retry_for'), k.retry_for)
    from (select p_kind as kind) p left join jobkit.kinds k on k.kind = p.kind
$$;
