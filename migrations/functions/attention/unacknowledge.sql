-- unacknowledge: makes an alarm need attention again. Returns whether it was acknowledged.
create or replace function jobkit.unacknowledge(
    p_what text, p_subject text, p_actor text default null
) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    perform jobkit.require_read_committed();
    delete from jobkit.acknowledged a where a.what = p_what and a.subject = p_subject;
    if not found then
        return false;
    end if;
    perform jobkit.note(p_actor, 'unacknowledge', 'attention', null,
        jsonb_build_object('subject', p_subject), p_what);
    return true;
end
$$;
