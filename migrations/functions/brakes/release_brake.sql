-- release_brake: called after a brake was loosened. Removes its row if it holds nothing back any
-- more, and wakes workers that sleep.
create or replace function jobkit.release_brake(p_scope text, p_name text) returns void
language plpgsql as $$
begin
    delete from jobkit.brakes b
    where b.scope = p_scope and b.name = p_name
        and num_nonnulls(b.paused_at, b.running_limit, b.rate_count) = 0;
    perform jobkit.wake(case when p_scope = 'queue' then array[p_name]
        else array(select q.queue from jobkit.ready_queues() q) end);
end
$$;
