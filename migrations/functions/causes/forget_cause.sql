-- forget_cause: deletes a cause that has no note and is not muted any more.
create or replace function jobkit.forget_cause(p_fingerprint text) returns void
language sql as $$
    delete from jobkit.causes c
    where c.fingerprint = p_fingerprint and c.note is null and c.muted_until is null
$$;
