-- operation_took: counts a page, and records the jobs or dead letters that were left out.
create or replace function jobkit.operation_took(
    p_id bigint, p_done integer, p_skipped bigint[], p_outcomes text[]
) returns void
language sql as $$
    insert into jobkit.operation_results (operation_id, subject_id, outcome)
    select p_id, s.subject, s.outcome from unnest(p_skipped, p_outcomes) as s (subject, outcome)
    where (select count(*) from jobkit.operation_results r where r.operation_id = p_id) < 1000
    limit 1000 on conflict do nothing;
    update jobkit.operations o set done = o.done + p_done,
        skipped = o.skipped + coalesce(cardinality(p_skipped), 0)
    where o.id = p_id and (p_done > 0 or p_skipped <> '{}')
$$;
