-- wrong_at_length: the full check of `wrong_with`, for a job that fails the quick one. Returns the
-- error, or null.
create or replace function jobkit.wrong_at_length(
    p_kind text, p_queue text, p_priority integer, p_max_attempts integer, p_group text,
    p_key text, p_dead_letter_key text, p_args text, p_metadata jsonb, p_version integer
) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    -- jsonb makes metadata at most one and a half times as long.
    v_bytes constant bigint :=
        octet_length(p_args) + coalesce(octet_length(p_metadata::text) / 3 * 2, 0);
    v_wrong text := case
        when octet_length(p_kind) between 1 and 128 is not true then
            'the name of a kind must have 1 to 128 bytes, not ' || coalesce(octet_length(p_kind), 0)
        when octet_length(p_queue) between 1 and 128 is not true then
            'the name of a queue must have 1 to 128 bytes, not '
                || coalesce(octet_length(p_queue), 0)
        when p_priority between -3 and 3 is not true then
            'a priority must be -3 to 3, not ' || coalesce(p_priority::text, 'null')
        when p_max_attempts between 1 and 1000 is not true then
            'a number of attempts must be 1 to 1000, not '
                || coalesce(p_max_attempts::text, 'null')
        when p_key is not null and p_group is null then
            'a concurrency key was given without its group: pass both or neither'
        when p_key is not null and octet_length(p_group) not between 1 and 128 then
            'the group of a key must have 1 to 128 bytes, not ' || octet_length(p_group)
        when octet_length(p_key) > 512 then
            'a key may have at most 512 bytes, not ' || octet_length(p_key)
        when octet_length(p_dead_letter_key) > 512 then
            'a key may have at most 512 bytes, not ' || octet_length(p_dead_letter_key)
        when p_args is null then 'the payload is null'
        when v_bytes > 1024 * 1024 then
            'payload and metadata may have at most 1048576 bytes, not ' || v_bytes
        when p_version not between 1 and 32767 then
            'a version must be 1 to 32767, not ' || p_version
    end;
begin
    if v_wrong is null and strpos(p_args, E'\\u') > 0 and jobkit.as_jsonb(p_args) is null then
        v_wrong := 'the payload has a NUL or an unpaired surrogate, which jsonb cannot store: '
            'remove it';
    end if;
    return v_wrong;
end
$$;
