-- settle_apart: splits settled jobs into those that `end_jobs` ends, and others that are settled
-- one by one (`settle_others`): jobs that did not succeed, and replays of dead letters.
create or replace function jobkit.settle_apart(
    p_held bigint[], p jobkit.outcomes, p_replaying boolean,
    out finish bigint[], out other bigint[]
)
language plpgsql as $$
begin
    finish := array(
        select o.job from unnest(p.job, p.outcome) as o (job, outcome)
        where o.outcome = 'finish'
        intersect select unnest(p_held)
    );
    other := array(select unnest(p_held) except select unnest(finish));
    if p_replaying then
        other := other || array(
            select j.id from jobkit.jobs j
            where j.id = any (finish) and j.dead_letter_id is not null
        );
        finish := array(select unnest(finish) except select unnest(other));
    end if;
end
$$;
