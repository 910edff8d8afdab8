-- What the sweep remembers between two looks.
alter table jobkit.sweeps
    add column resumed_at timestamptz,           -- when a kind, or everything, was resumed
    add column followed_to bigint not null default 0;
-- (Of the unique keys that a job follows, those up to this job were looked at.)
