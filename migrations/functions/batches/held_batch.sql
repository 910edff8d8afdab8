-- held_batch: the batch that a dead letter keeps open; null if there is none.
create or replace function jobkit.held_batch(p_dead_letter bigint) returns bigint
language sql stable as $$
    select min(h.batch_id) from jobkit.batch_holds h where h.dead_letter_id = p_dead_letter
$$;
