-- reopen: the replay of this generation has ended without success and without a failure: somebody
-- cancelled or discarded it.
create or replace function jobkit.reopen(p_job jobkit.jobs) returns void
language sql as $$
    update jobkit.dead_letters d set state = 'open', generation = d.generation + 1
    where d.id = p_job.dead_letter_id and d.generation = p_job.generation
        and d.state = 'replaying'
$$;
