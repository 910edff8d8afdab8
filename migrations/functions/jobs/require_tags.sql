-- require_tags: refuses tags that no worker could read, or more than a job may have.
create or replace function jobkit.require_tags(p_tags jsonb[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    perform jobkit.refuse(min(case
        when jsonb_typeof(t.tags) <> 'array' then 'the tags are not an array'
        when jsonb_path_exists(t.tags, 'strict $[*] ? (@.type() != "string")') then
            'a tag is null or not a string'
        when jsonb_array_length(t.tags) > 32 then
            'a job may have 32 tags at most, not ' || jsonb_array_length(t.tags)
        when (select max(octet_length(e.tag)) from jsonb_array_elements_text(t.tags) as e (tag))
            > 128 then 'a tag may have 128 bytes at most' end))
    from unnest(p_tags) as t (tags);
end
$$;
