-- What workers say of themselves: which declaration of schedules they made, so that an older one
-- that restarts sets nothing back while a newer one lives; and their rules of time zones.
create table jobkit.declarations (
    id bigint generated always as identity primary key,  -- a later one is newer
    digest text not null unique,                 -- of all that one binary says of its schedules
    declared_at timestamptz not null default clock_timestamp()  -- when that was said first
);
alter table jobkit.workers
    add column declaration bigint,               -- null: none, or it does not say
    add column zones text;                       -- the release, and where it is from
alter table jobkit.schedules add column declaration bigint;  -- the one that the row is of
