-- announce: the limits this binary says of its concurrency groups; returns those that changed.
-- $1 groups, $2 limits
select concurrency_group, old_limit, new_limit from jobkit.announce_limits($1, $2)
