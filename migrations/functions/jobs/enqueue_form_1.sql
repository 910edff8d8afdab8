-- enqueue_form_1: that this schema takes jobs as binaries enqueue them by statements of their own,
-- which name it: a set that cannot take this form any more drops it, and they are refused. The
-- next form has the next number. To the planner it is a constant: prepared statements pay nothing.
create or replace function jobkit.enqueue_form_1() returns boolean
language sql immutable as $$
    select true
$$;
