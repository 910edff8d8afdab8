-- Functions of earlier sets that no binary calls, or that have other parameters or another result
-- now. Where the new form serves the calls of the old one, the old one has to go: the two together
-- would leave the server to choose.
drop function if exists jobkit.operation_begin(
    text, jsonb, text, timestamptz, bigint, boolean, timestamptz, text, text
);
