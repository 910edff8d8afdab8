-- follow_left: makes jobs ready, p_limit at most, that follow one which has ended unnoticed, since
-- a producer had the key in hand just then. Returns how many keys it looked into.
create or replace function jobkit.follow_left(p_limit integer) returns integer
language plpgsql as $$
declare
    v_left record;
begin
    with gone as (
        delete from jobkit.unique_keys u
        where u.ctid = any (array(
            select k.ctid from jobkit.unique_keys k
            where k.follower_id is not null
                and not exists (
                    select from jobkit.jobs j
                    where j.id = k.job_id and j.cancel_requested_at is null
                )
            limit p_limit for update of k skip locked
        ))
        returning u.scope, u.key, u.job_id, u.follower_id
    )
    select array_agg(g.scope) as scopes, array_agg(g.key) as keys, array_agg(g.job_id) as jobs,
        array_agg(g.follower_id) as followers, count(*) as n
    into v_left from gone g;
    if v_left.n > 0 then
        perform jobkit.follow(v_left.scopes, v_left.keys, v_left.jobs, v_left.followers);
    end if;
    return v_left.n;
end
$$;
