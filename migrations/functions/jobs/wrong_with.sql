-- wrong_with: the error in a job to be enqueued that would keep claims from finding it or workers
-- from running it; null if there is none.
-- A payload with escaped characters is checked further: json accepts a NUL and half of a surrogate
-- pair, but jsonb, used for searches, does not. Numbers beyond `numeric` pass, since the check
-- would cost half of what a job in bulk does (4 µs): read payloads as jsonb by `as_jsonb`.
-- It is inlined, so it has no settings, and every name in it has its schema.
create or replace function jobkit.wrong_with(
    p_kind text, p_queue text, p_priority integer, p_max_attempts integer, p_group text,
    p_key text, p_dead_letter_key text, p_args text, p_metadata jsonb, p_version integer
) returns text
language sql immutable as $$
    select case
        when pg_catalog.octet_length(p_kind) operator(pg_catalog.<=) 128
            and pg_catalog.octet_length(p_queue) operator(pg_catalog.<=) 128
            and p_kind operator(pg_catalog.<>) '' and p_queue operator(pg_catalog.<>) ''
            and p_priority operator(pg_catalog.>=) -3 and p_priority operator(pg_catalog.<=) 3
            and p_max_attempts operator(pg_catalog.>=) 1
            and p_max_attempts operator(pg_catalog.<=) 1000
            and (p_key is null or pg_catalog.octet_length(p_key) operator(pg_catalog.<=) 512
                and p_group operator(pg_catalog.<>) ''
                and pg_catalog.octet_length(p_group) operator(pg_catalog.<=) 128)
            and (p_dead_letter_key is null
                or pg_catalog.octet_length(p_dead_letter_key) operator(pg_catalog.<=) 512)
            and pg_catalog.octet_length(p_args) operator(pg_catalog.<=) 1048576
            and p_metadata is null
            and (p_version is null or p_version operator(pg_catalog.>=) 1
                and p_version operator(pg_catalog.<=) 32767)
            and pg_catalog.strpos(p_args, E'\\u') operator(pg_catalog.=) 0
        then null
        else jobkit.wrong_at_length(p_kind, p_queue, p_priority, p_max_attempts, p_group, p_key,
            p_dead_letter_key, p_args, p_metadata, p_version)
    end
$$;
