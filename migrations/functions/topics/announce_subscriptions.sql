-- announce_subscriptions: records the topics that a binary announces for its kinds: one row for
-- each kind and alias, with p_aliases null if there is none. Other subscriptions stay. But a
-- renamed kind takes over those of its old name, and gives them back if an older binary announces
-- them, so that one event never makes two jobs for one subscriber.
-- Locks the table against others that do the same; a publish only reads, and waits for nobody.
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
