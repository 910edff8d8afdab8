//! Behaviour of jobkit against a real PostgreSQL.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

/// Makes a test of each function of a lab, in a fresh one.
macro_rules! in_a_lab {
    ($($name:ident),+ $(,)?) => {
        mod run {
            $(#[tokio::test]
            async fn $name() {
                super::$name(jobkit_tests::Lab::new().await).await;
            })+
        }
    };
}

mod admin;
mod ahead;
mod around;
mod badinput;
mod batch_model;
mod batches;
mod blocking;
mod bounds;
mod causes;
mod chunks;
mod clock;
mod coalesce;
mod columns;
mod completion;
mod delays;
mod doors;
mod enqueue;
mod event_triggers;
mod examples;
mod few_connections;
mod grants;
mod held_up;
mod hooks;
mod identity;
mod isolationtester;
mod jobs;
mod lifecycle;
mod limiters;
mod limits;
mod log;
mod migrations;
mod model;
mod mutants;
mod old_plans;
mod on_demand;
mod plans;
mod plpgsql_check;
mod pooler;
mod prepared;
mod producers;
mod prune;
mod publication;
mod queues;
mod races;
mod rates;
mod recovery;
mod reports;
mod results;
mod roles;
mod schedules;
mod schedules_kept;
mod settings;
mod shares;
mod startup;
mod statements;
mod step_values;
mod steps;
mod stuck;
mod succession;
mod terms;
mod topics;
mod unique;
mod unreadable;
mod upgrade;
mod values;
mod versions;
mod violations;
mod waits;
