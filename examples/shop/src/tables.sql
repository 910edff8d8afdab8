-- The shop's own tables. A grown application has them in `sqlx::migrate!`: jobkit has a schema and
-- a book of migrations of its own, so the two do not meet.

-- Two processes that start at once take turns: `create table if not exists` is no lock.
select pg_advisory_xact_lock(20260101);
create table if not exists orders (
    id bigint generated always as identity primary key,
    email text not null,
    sku text not null,
    cents bigint not null check (cents > 0),
    placed_at timestamptz not null default now(),
    charge_key text,                             -- what the card provider knows the charge by
    charged_at timestamptz, declined_at timestamptz,
    receipted_at timestamptz, refunded_at timestamptz
);
create table if not exists products (
    sku text primary key,
    title text not null default '',
    stock integer not null default 0,
    words text[] not null default '{}'           -- the search index
);
create table if not exists endpoints (
    id bigint generated always as identity primary key, url text not null, gone_at timestamptz
);
create table if not exists imports (
    id bigint generated always as identity primary key,
    next_page integer not null default 0,        -- the checkpoint
    done_at timestamptz
);
create table if not exists reports (
    day date primary key,
    orders bigint, cents bigint,
    made_at timestamptz                          -- null: its job is under way
);
create table if not exists sessions (
    token text primary key, name text not null, role text not null
);
