//! The design of concurrency keys, before any SQL.

mod grants;
