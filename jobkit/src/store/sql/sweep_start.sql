-- sweep: waits for everybody who may have decided without having seen a worker that just began.
select jobkit.sweep_start()
