-- What operators did, and what they know of already.

-- audit: what operators did, written in the transaction that did it. Nothing is changed in it
-- later, but that the end of an operation fills in what came of it.
create table jobkit.audit (
    id bigint generated always as identity primary key,
    at timestamptz not null default clock_timestamp(),
    actor text,                                  -- as the caller says; null: it did not
    action text not null,
    subject text not null,                       -- what kind of thing, …
    subject_id bigint,                           -- … which one; null: those of `detail`, …
    subject_name text,                           -- … or the one of this name
    detail jsonb
);

-- Alarms that somebody has seen: what began by `up_to` needs attention no more, what begins later
-- does. A row is good for 30 days.
create table jobkit.acknowledged (
    what text collate "C" not null,              -- the name of the alarm
    subject text collate "C" not null,           -- the queue, the key, …; '' of the whole
    up_to timestamptz not null,
    actor text,
    reason text,
    at timestamptz not null default clock_timestamp(),
    primary key (what, subject)
);
