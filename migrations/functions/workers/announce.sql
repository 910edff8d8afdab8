-- announce: records the settings of a binary's kinds; the last one wins. Rows are sorted, so that
-- starting workers do not deadlock, and unchanged rows are not written. Arrays from p_auto_replay
-- on may be shorter: missing entries mean none.
create or replace function jobkit.announce(
    p_kind text[], p_queue text[], p_priority smallint[], p_max_attempts smallint[],
    p_retention interval[], p_group text[], p_limit integer[],
    p_auto_replay interval[] default '{}', p_max_cycles integer[] default '{}',
    p_redact text[] default '{}',                -- for each kind, separated by commas
    p_key_optional boolean[] default '{}', p_expires interval[] default '{}',
    p_retry_for interval[] default '{}', p_retention_discarded interval[] default '{}',
    p_encrypt text[] default '{}',               -- as p_redact
    p_takes_text boolean[] default '{}'          -- whether a payload may be a JSON string
) returns void
language sql as $$
    insert into jobkit.kinds as k (kind, queue, priority, max_attempts, retention,
        concurrency_group, concurrency_limit, auto_replay, max_cycles, redact, key_optional,
        expires, retry_for, retention_discarded, encrypt, takes_text)
    select i.kind, i.queue, i.priority, i.max_attempts, i.retention, i.grp, i.lim, i.auto_replay,
        coalesce(i.max_cycles, 0), coalesce(string_to_array(i.redact, ','), '{}'),
        coalesce(i.key_optional, false), i.expires, i.retry_for, i.retention_discarded,
        coalesce(string_to_array(i.encrypt, ','), '{}'), i.takes_text
    from unnest(p_kind, p_queue, p_priority, p_max_attempts, p_retention, p_group, p_limit,
            p_auto_replay, p_max_cycles, p_redact, p_key_optional, p_expires, p_retry_for,
            p_retention_discarded, p_encrypt, p_takes_text)
        as i (kind, queue, priority, max_attempts, retention, grp, lim, auto_replay, max_cycles,
            redact, key_optional, expires, retry_for, retention_discarded, encrypt, takes_text)
    order by i.kind
    on conflict (kind) do update set queue = excluded.queue, priority = excluded.priority,
        max_attempts = excluded.max_attempts, retention = excluded.retention,
        concurrency_group = excluded.concurrency_group,
        concurrency_limit = excluded.concurrency_limit, auto_replay = excluded.auto_replay,
        max_cycles = excluded.max_cycles, redact = excluded.redact,
        key_optional = excluded.key_optional, expires = excluded.expires,
        retry_for = excluded.retry_for, retention_discarded = excluded.retention_discarded,
        encrypt = excluded.encrypt, takes_text = excluded.takes_text,
        announced_at = clock_timestamp()
    where to_jsonb(k) - 'announced_at' <> to_jsonb(excluded) - 'announced_at'
$$;
