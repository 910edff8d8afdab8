-- Unique jobs: who holds a key. A row alone holds nothing: whether it does is decided by where its
-- job is (`key_holder`), so that one which was left behind is in nobody's way.
create table jobkit.unique_keys (
    scope text collate "C" not null,             -- the kind, or the group it names
    key text collate "C" not null,
    job_id bigint not null,
    held_until timestamptz,                      -- so long it is held although its job has ended
    follower_id bigint,                          -- the job that has the key when this one has ended
    follower_until timestamptz,                  -- … and `held_until` of that
    primary key (scope, key)
);
-- A job that ends frees its key by the key. These are for those that ended and keep theirs, and for
-- the sweep, which looks for followers whose turn came unnoticed.
create index unique_keys_kept on jobkit.unique_keys (job_id) where held_until is not null;
create index unique_keys_followed on jobkit.unique_keys (job_id) where follower_id is not null;
