-- require_sealed: refuses a payload with an unsealed value that its kind encrypts, or one whose
-- redacted or encrypted values cannot be located. Enqueues by type come from a binary that ensures
-- both; this is for callers that name the kind.
create or replace function jobkit.require_sealed(p_kind text, p_args jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_path text;
begin
    select p.path into v_path
    from jobkit.kinds k, unnest(k.encrypt) as p (path)
    where k.kind = p_kind and jobkit.lies_open(p_args, string_to_array(p.path, '.')) limit 1;
    if found then
        raise exception 'jobkit: jobs of the kind "%" need "%" encrypted, but this payload has it '
            'in plain text', p_kind, v_path
            using errcode = 'JK010', hint = 'Enqueue the job from a program that has its type or '
                'the encryption keys.';
    end if;
    select p.path into v_path
    from jobkit.kinds k, unnest(k.redact || k.encrypt) as p (path)
    where k.kind = p_kind and jobkit.strays(p_args, string_to_array(p.path, '.')) limit 1;
    if found then
        raise exception 'jobkit: jobs of the kind "%" hide "%", but the path to it is broken in '
            'this payload', p_kind, v_path
            using errcode = 'JK010', hint = 'Pass an object with the next key at each step of the '
                'path, or null.';
    end if;
end
$$;
