-- What operators know of already, and of workers that are gone what is told of them.

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

-- When a lost worker had begun, and when it renewed its lease last; null of those lost before.
alter table jobkit.lost_workers
    add column started_at timestamptz, add column heartbeat_at timestamptz;

-- Workers that stopped in order, kept for a day as those that were lost are.
create table jobkit.stopped_workers (
    id bigint not null,
    name text not null,
    started_at timestamptz not null,
    stopped_at timestamptz not null default clock_timestamp(),
    primary key (stopped_at, id)
);
