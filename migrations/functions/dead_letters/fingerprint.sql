-- fingerprint: a text that is equal for dead letters with the same cause, as far as their last
-- errors show.
create or replace function jobkit.fingerprint(
    p_kind text, p_reason text, p_errors jsonb, p_error text
) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select left(md5(concat_ws(E'\n', p_kind,
        coalesce(case p_reason when 'crashed' then 'crashed'
            else p_errors -> -1 ->> 'error_type' end, ''),
        jobkit.fold(p_error))), 16)
$$;
