-- pause: nobody claims from this queue any more; returns whether it was not paused before.
-- $1 queue, $2 actor, $3 reason
select jobkit.pause($1, $2, $3)
