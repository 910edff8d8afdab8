-- The partitions of `finished`: a job expires on a day listed here (`expiry`). With a default
-- partition this table would not be needed, but detaching a day would wait for every reader.
create table jobkit.finished_days (
    day date primary key
);
