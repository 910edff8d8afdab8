-- replay: dead letters whose kind replays them by itself, once their time has come.
-- $1 how many at most
select jobkit.replay_due($1)
