-- follow_left: makes followers ready whose job ended unnoticed, since a producer held the key just
-- then, or whose job began and held its key only while queued. It looks at p_limit followed keys,
-- in the order of the jobs that hold them, and continues behind these the next time. Returns how
-- many it found.
create or replace function jobkit.follow_left(p_limit integer) returns integer
language plpgsql as $$
declare
    v_gone tid[];
    v_last bigint := 0;
    v_left record;
begin
    select array_agg(k.at) filter (where not k.lives),
        case when count(*) = p_limit then max(k.job_id) else 0 end
    into v_gone, v_last
    from (
        select u.ctid as at, u.job_id, exists (
            select from jobkit.jobs j
            where j.id = u.job_id and j.unique_scope = u.scope and j.unique_key = u.key
                and (j.unique_while <> 'queued'
                    or (jobkit.key_holder(u.scope, u.key)).state <> 'free')
        ) as lives
        from jobkit.unique_keys u
        where u.follower_id is not null
            and u.job_id > (select s.followed_to from jobkit.sweeps s)
        order by u.job_id limit p_limit
    ) k;
    update jobkit.sweeps s set followed_to = v_last where s.followed_to <> v_last;
    with gone as (
        delete from jobkit.unique_keys u
        where u.ctid = any (array(
            select k.ctid from jobkit.unique_keys k
            where k.ctid = any (v_gone) and k.follower_id is not null
                and not exists (
                    select from jobkit.jobs j
                    where j.id = k.job_id and j.unique_scope = k.scope and j.unique_key = k.key
                        and (j.unique_while <> 'queued'
                            or (jobkit.key_holder(k.scope, k.key)).state <> 'free')
                )
            for update of k skip locked
        ))
        returning u.scope, u.key, u.job_id, u.follower_id, u.follower_until
    )
    select array_agg(g.scope) as scopes, array_agg(g.key) as keys, array_agg(g.job_id) as jobs,
        array_agg(g.follower_id) as followers, array_agg(g.follower_until) as untils,
        count(*) as n
    into v_left from gone g;
    if v_left.n > 0 then
        perform jobkit.follow(
            v_left.scopes, v_left.keys, v_left.jobs, v_left.followers, v_left.untils);
    end if;
    return v_left.n;
exception when others then
    -- A failure must hold up neither the sweep nor the keys behind this one.
    if sqlstate like '40%' or sqlstate = '57014' then
        raise;
    end if;
    raise warning 'jobkit: the followers of unique keys were not processed: %', sqlerrm;
    update jobkit.sweeps s set followed_to = v_last;
    return 0;
end
$$;
