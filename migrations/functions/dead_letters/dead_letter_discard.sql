-- dead_letter_discard: for operators; removes one for good, or says why not.
create or replace function jobkit.dead_letter_discard(p_id bigint, p_actor text default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_outcome text;
begin
    v_outcome := jobkit.discard_dead_letter(p_id, coalesce(p_actor, session_user));
    if v_outcome = 'missing' then
        raise exception 'jobkit: there is no dead letter %', p_id using errcode = 'JK006';
    elsif v_outcome = 'replaying' then
        raise exception 'jobkit: dead letter % is being replayed', p_id using errcode = 'JK007',
            hint = 'Cancel the job that replays it first.';
    end if;
end
$$;
