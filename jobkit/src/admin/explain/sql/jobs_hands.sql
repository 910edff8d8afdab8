-- explain: the sessions with open transactions that hold a waiting job ($1), ten at most.
select h.pid, h.application, h.since from jobkit.key_hands($1) h order by h.since, h.pid limit 10
