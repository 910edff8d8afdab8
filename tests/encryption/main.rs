//! Payloads that lie encrypted. A binary of its own: its keys are those of the process, and so is
//! its log.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod connect;
mod keys;
mod producers;
mod rotation;
mod secrecy;
#[path = "../cli/shell.rs"]
#[allow(dead_code, reason = "of the command line's tests")]
mod shell;
#[path = "../admin/site.rs"]
#[allow(dead_code, reason = "of the dashboard's tests")]
mod site;
#[path = "../admin/world.rs"]
#[allow(dead_code, reason = "of the dashboard's tests")]
mod world;
