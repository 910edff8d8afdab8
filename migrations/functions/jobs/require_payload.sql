-- require_payload: checks the payload that an operator gives for a named kind. Refuses invalid
-- JSON, and JSON that jobs of this kind cannot read. Null: no payload.
create or replace function jobkit.require_payload(p_kind text, p_args text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_args constant jsonb := jobkit.as_jsonb(p_args);
begin
    perform jobkit.refuse(case when p_args is not null and v_args is null then
            'the payload is not JSON, or has a character or number that jsonb cannot store' end),
        jobkit.require_shape(p_kind, (
            select k.takes_text from jobkit.kinds k where k.kind = p_kind
        ), v_args),
        jobkit.require_sealed(p_kind, v_args);
end
$$;
