-- reap, first half: removes workers whose lease has lapsed.
select * from jobkit.reap_workers()
