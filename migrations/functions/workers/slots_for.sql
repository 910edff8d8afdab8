-- slots_for: how many jobs of a queue a worker runs at a time, from its queues and patterns and
-- their slots: the entry of that name, otherwise the longest pattern that matches.
create or replace function jobkit.slots_for(p_queues text[], p_slots integer[], p_queue text)
returns integer
language sql immutable as $$
    select coalesce(p_slots[array_position(p_queues, p_queue)], (
        select s.slots from unnest(p_queues, p_slots) as s (name, slots)
        where right(s.name, 1) = '*' and p_queue ^@ left(s.name, -1)
        order by length(s.name) desc limit 1
    ))
$$;
