-- enqueue_form_1: marks that this schema accepts jobs in the form in which binaries enqueue them by
-- their own statements, which name it. A set of functions that no longer accepts that form drops
-- this function, and such binaries are refused. The next form has the next number. The planner
-- treats it as a constant: it costs prepared statements nothing.
create or replace function jobkit.enqueue_form_1() returns boolean
language sql immutable as $$
    select true
$$;
