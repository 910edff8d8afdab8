-- How fast an operation goes: jobs or dead letters a second, for the sake of what their jobs call,
-- and when its next step may begin.
alter table jobkit.operations
    add column per_second integer check (per_second between 1 and 1000000),
    add column next_at timestamptz;
