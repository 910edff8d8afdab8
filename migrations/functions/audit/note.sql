-- note: returns the entry. None without an action: the page of an operation, which is noted itself.
create or replace function jobkit.note(
    p_actor text, p_action text, p_subject text, p_subject_id bigint, p_detail jsonb,
    p_subject_name text default null
) returns bigint
language sql as $$
    insert into jobkit.audit (actor, action, subject, subject_id, subject_name, detail)
    select p_actor, p_action, p_subject, p_subject_id, p_subject_name, p_detail
    where p_action is not null returning id
$$;
