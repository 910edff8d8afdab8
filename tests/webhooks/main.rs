//! Deliveries to servers of customers, on loopback.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod canary;
mod customers;
mod page;
mod receiver;
mod refused;
mod single;
mod table;
