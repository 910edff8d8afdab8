-- recover: whether there are jobs to bury, dead letters to replay, or operations to go on with.
select exhausted, replay_due, operating from jobkit.recover_look()
