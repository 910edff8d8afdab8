-- Whether jobs of a kind may come without a concurrency key: the expression in `#[job]` is an
-- `Option`. Until a binary that knows says so, none may.
alter table jobkit.kinds add column key_optional boolean not null default false;
