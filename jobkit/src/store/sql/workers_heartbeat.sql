-- heartbeat: renews the lease, by the primary key of `workers`.
-- $1 worker, $2 whether it is stopping
select alive, lapsed, stop, cancel from jobkit.heartbeat($1, $2)
