-- said: the parts of a limit that are set, in the form that `read_limit` takes.
create or replace function jobkit.said(
    p_running integer, p_every interval, p_burst integer, p_waiting integer
) returns jsonb
language sql immutable as $$
    select jsonb_strip_nulls(jsonb_build_object(
        'running', case when p_running < 2147483647 then to_jsonb(p_running)
            when p_running is not null then '"none"' end,
        'rate', case when p_every > '0'
                then jsonb_build_object('every', p_every, 'burst', p_burst)
            when p_every is not null then '"none"' end,
        'waiting', case when p_waiting < 2147483647 then to_jsonb(p_waiting)
            when p_waiting is not null then '"none"' end))
$$;
