-- prune: the expired partitions of `finished`, and the statements that remove each.
select day, detach, remove from jobkit.finished_expired()
