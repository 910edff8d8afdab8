-- resolve: the replay of this generation has succeeded.
create or replace function jobkit.resolve(p_job jobkit.jobs) returns void
language sql as $$
    update jobkit.dead_letters d set state = 'resolved', resolved_at = clock_timestamp()
    where d.id = p_job.dead_letter_id and d.generation = p_job.generation
        and d.state = 'replaying'
$$;
