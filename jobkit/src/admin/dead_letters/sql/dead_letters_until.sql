-- The latest failure that a call over all dead letters means: by the server's clock, so that what
-- fails again while it runs is not met twice.
-- $1 how long ago, $2 no later than this, null for any
select least(clock_timestamp() - $1::interval, $2::timestamptz)
