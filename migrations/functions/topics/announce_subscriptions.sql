-- announce_subscriptions: what a binary says of the topics of its kinds: one row for each kind and
-- alias, p_aliases null where there is none. It takes no other subscription back. But a kind that
-- got another name takes over that of the old name, and gives it back where a binary from before
-- announces it, so that no event is ever two jobs of one subscriber. The lock is against two who do
-- so at once; a publish reads, and waits for neither.
create or replace function jobkit.announce_subscriptions(
    p_topics text[], p_kinds text[], p_aliases text[]
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
as $$
begin
    perform jobkit.require_read_committed();
    lock table jobkit.subscriptions in share row exclusive mode;
    delete from jobkit.subscriptions s
    using unnest(p_topics, p_kinds, p_aliases) as i (topic, kind, alias)
    where s.topic = i.topic and (s.kind = i.alias or i.kind = any (s.aliases));
    insert into jobkit.subscriptions as s (topic, kind, aliases)
    select i.topic, i.kind, coalesce(array_agg(i.alias) filter (where i.alias is not null), '{}')
    from unnest(p_topics, p_kinds, p_aliases) as i (topic, kind, alias)
    group by i.topic, i.kind
    on conflict (topic, kind) do update
        set aliases = excluded.aliases, announced_at = clock_timestamp();
end
$$;
