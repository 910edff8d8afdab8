-- Claims whose worker is gone.
select worker_id, n from jobkit.orphaned_claims()
