-- Unique jobs: which job holds a key. A row alone holds nothing: where its job is decides that
-- (`key_holder`), so a row that was left behind blocks nobody.
create table jobkit.unique_keys (
    scope text collate "C" not null,             -- the kind, or the group it names
    key text collate "C" not null,
    job_id bigint not null,
    held_until timestamptz,                      -- held until then, even if its job has ended
    follower_id bigint,                          -- gets the key when this job ends
    follower_until timestamptz,                  -- … and `held_until` of that
    primary key (scope, key)
);
-- A job that ends frees its key by the primary key. These indexes are for jobs that ended and keep
-- theirs, and for the sweep, which looks for followers of jobs that ended unnoticed.
create index unique_keys_kept on jobkit.unique_keys (job_id) where held_until is not null;
create index unique_keys_followed on jobkit.unique_keys (job_id) where follower_id is not null;
