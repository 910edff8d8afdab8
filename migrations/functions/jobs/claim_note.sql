-- claim_note: a row of a claim's answer that is no job. It is inlined where it is called.
create or replace function jobkit.claim_note(p_note json) returns jobkit.claimed
language sql immutable as $$
    select row(null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
        null, p_note)::jobkit.claimed
$$;
