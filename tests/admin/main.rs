//! The dashboard, against a real PostgreSQL and without a browser.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod access;
mod actions;
mod api;
mod assets;
mod attention;
mod batches;
mod budget;
mod canary;
mod choices;
mod compressed;
mod crawler;
mod cross_site;
mod down;
mod encoded;
mod enqueue;
mod explained;
mod exposition;
mod hostile;
mod lists;
mod live;
mod metrics;
mod mount;
mod one_batch;
mod one_kind;
mod operations;
mod pauses;
mod reports;
mod schedules;
mod selected;
mod site;
mod slow;
mod world;
