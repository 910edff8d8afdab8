-- What operators did, and which alarms they have seen.

-- audit: what operators did, written in the transaction that did it. Entries do not change later,
-- except that the end of an operation fills in its result.
create table jobkit.audit (
    id bigint generated always as identity primary key,
    at timestamptz not null default clock_timestamp(),
    actor text,                                  -- as the caller says; null: not given
    action text not null,
    subject text not null,                       -- what kind of thing, …
    subject_id bigint,                           -- … which one; null: those of `detail`, …
    subject_name text,                           -- … or the one of this name
    detail jsonb
);

-- Alarms that somebody has seen: one that began by `up_to` needs no more attention, one that begins
-- later does. A row is valid for 30 days.
create table jobkit.acknowledged (
    what text collate "C" not null,              -- the name of the alarm
    subject text collate "C" not null,           -- the queue, the key, …; '': everything
    up_to timestamptz not null,
    actor text,
    reason text,
    at timestamptz not null default clock_timestamp(),
    primary key (what, subject)
);
