-- note: adds an entry to the audit log and returns it. Does nothing without an action, as for the
-- pages of an operation, whose beginning was recorded. Refuses long texts, since every action
-- passes through here. The time is the server's, and p_actor is not verified. Runs as the owner: no
-- other role writes to the audit log.
create or replace function jobkit.note(
    p_actor text, p_action text, p_subject text, p_subject_id bigint, p_detail jsonb,
    p_subject_name text default null
) returns bigint
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
    select jobkit.refuse(format('the %s has %s bytes; %s are allowed', w.what, octet_length(w.said),
        w.most))
    from (values ('actor', p_actor, 512), ('reason', p_detail ->> 'reason', 4096),
        ('note', p_detail ->> 'note', 4096)) w (what, said, most)
    where octet_length(w.said) > w.most and p_action is not null
    limit 1;
    insert into jobkit.audit (at, actor, action, subject, subject_id, subject_name, detail)
    select clock_timestamp(), p_actor, p_action, p_subject, p_subject_id, p_subject_name, p_detail
    where p_action is not null returning id
$$;
revoke all on function jobkit.note from public;
