-- require_shape: refuses a payload that is a JSON string where its kind takes none (p_takes_text,
-- as a binary announced it): some drivers make a string of the JSON that they are given. Where
-- nobody has said (null), one is refused that has an object or an array in it.
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
