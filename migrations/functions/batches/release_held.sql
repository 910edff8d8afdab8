-- release_held: lets go of batches that dead letters kept open. The caller has locked the latter.
--   p_outcome  how these members ended after all: `finish` or `discard`
create or replace function jobkit.release_held(p_dead_letters bigint[], p_outcome text)
returns void
language plpgsql as $$
begin
    with released as (
        delete from jobkit.batch_holds h where h.dead_letter_id = any (p_dead_letters)
        returning h.batch_id
    )
    insert into jobkit.batch_tallies (batch_id, outcome, jobs)
    select r.batch_id, o.outcome, o.factor * count(*)
    from released r cross join (values ('hold', -1), (p_outcome, 1)) as o (outcome, factor)
    group by r.batch_id, o.outcome, o.factor;
    if found then
        perform jobkit.wake_due(clock_timestamp());
    end if;
end
$$;
