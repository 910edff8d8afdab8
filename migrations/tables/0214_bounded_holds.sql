-- No stream of producers holds a job back for good: from some time past due on, what comes follows.
alter table jobkit.jobs
    add column due_since timestamptz;            -- where duplicates change it after it was due
alter table jobkit.unique_keys
    add column follower_until timestamptz;       -- `held_until` of the job that follows
