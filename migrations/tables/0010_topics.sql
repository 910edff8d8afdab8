-- Which kinds get a job for each event published to a topic. Binaries announce it; only an operator
-- takes it back (`unsubscribe`), so that two versions in one fleet lose nothing.
create table jobkit.subscriptions (
    topic text not null,
    kind text not null,
    aliases text[] not null default '{}',        -- earlier names of the kind
    subscribed_at timestamptz not null default clock_timestamp(),
    announced_at timestamptz not null default clock_timestamp(),
    primary key (topic, kind)
);
