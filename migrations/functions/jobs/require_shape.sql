-- require_shape: refuses a payload that is a JSON string if its kind takes none (p_takes_text, as a
-- binary announced it): some drivers turn the JSON they are given into a string. If that is unknown
-- (null), it refuses a string that contains an object or an array.
create or replace function jobkit.require_shape(
    p_kind text, p_takes_text boolean, p_args jsonb
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if jsonb_typeof(p_args) = 'string'
        and not coalesce(p_takes_text, p_args #>> '{}' !~ E'^\\s*[[{]')
    then
        raise exception 'jobkit: the payload is a JSON string, but jobs of the kind "%" do not '
            'take strings', p_kind
            using errcode = 'JK008', hint = 'The driver probably encoded the JSON twice: pass the '
                'object itself, or cast the parameter: $1::text::jsonb.';
    end if;
end
$$;
