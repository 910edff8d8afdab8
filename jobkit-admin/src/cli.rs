//! The command line: what the dashboard does, for shells and scripts. The binary `jobkit` is
//! nothing but a call of [`main`].
//!
//! ```text
//! cargo install jobkit-admin --features cli
//! export DATABASE_URL=postgres://user:password@host/database
//! jobkit migrate                              # or: jobkit migrate --print-sql
//! jobkit roles                                # prints the SQL of roles
//! jobkit status
//! jobkit jobs list 'state:retrying kind:charge_card args.account:7'
//! jobkit jobs explain 4711
//! jobkit enqueue send_receipt '{"order_id": 7}'
//! jobkit dead replay-all --kind charge_card   # says what it would do; does it with --yes
//! jobkit doctor --json
//! jobkit reseal --dry-run                     # how many payloads are sealed with which key
//! jobkit serve                                # a dashboard of its own
//! jobkit bench                                # what this database can do
//! ```
//!
//! `jobkit help <command>` tells the rest. Every command knows `--json`: one document, in which
//! names and values are those of the dashboard's `/api/v1`; ids are texts, so that no program
//! rounds them. What is shown to people has every character written out that a terminal would
//! obey. Of payloads only that is shown which their kinds do not redact, unless `--reveal` is
//! given.
//!
//! **Exit status**: 0 when it is done; 1 when something was not found, refused, or not done, and
//! when the doctor has found something wrong; 2 when the command line is wrong. Reasons go to
//! stderr.
//!
//! **The audit** has who did it: `--actor`, or else the user of the operating system.
//!
//! **Payloads of kinds that encrypt fields** are sealed, and resealed, with the keys in
//! `JOBKIT_KEYS`, as [`Keyring`](jobkit::policy::encryption::Keyring) reads them. Nothing that is
//! sealed is ever shown open.
//!
//! **The dashboard of `serve`** wants a password by HTTP basic authentication, which it makes up
//! and prints unless it is given one; the user's name is whatever people give, and the audit has
//! it. It speaks plain HTTP: where others could listen, put a proxy with TLS before it.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use jobkit::Admin;

use crate::access::Redaction;

mod answer;
mod arguments;
mod attention;
mod bench;
mod brakes;
mod dead;
mod desk;
mod doctor;
mod enqueue;
mod guesses;
mod jobs;
mod migrate;
mod operations;
mod password;
mod queues;
mod reseal;
mod roles;
mod schedules;
mod semaphores;
mod serve;
mod server;
mod signal;
mod status;
mod topics;
mod workers;

use self::answer::Failure;
use self::desk::{Answered, Desk};

/// Above the options that every command has.
const GLOBAL: &str = "Options of all commands";

/// Looks after the jobs of a jobkit database.
#[derive(Debug, Parser)]
#[command(name = "jobkit", version, max_term_width = 100)]
#[command(after_help = "Exit status: 0 done; 1 not found, refused, not done, or the doctor has \
    found something wrong; 2 the command line is wrong.")]
struct Cli {
    /// Where the database is: postgres://user:password@host:5432/database
    ///
    /// Of several hosts (a:5432,b:5432) it takes the one that takes writes, or with
    /// ?target_session_attrs=any the first that answers.
    ///
    /// Other users of this machine can see command lines: prefer the environment variable.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "URL")]
    #[arg(env = "DATABASE_URL", hide_env_values = true)]
    database_url: Option<String>,
    /// Answers with one JSON document
    #[arg(long, global = true, help_heading = GLOBAL)]
    json: bool,
    /// Who does this, for the audit; by default the user of the operating system
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "NAME")]
    actor: Option<String>,
    /// Shows payloads with what their kinds redact
    #[arg(long, global = true, help_heading = GLOBAL)]
    reveal: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Brings the database's schema to the version of this binary
    Migrate(migrate::Migrate),
    /// Prints the SQL of roles with the rights of producers, workers, viewers and operators
    Roles(roles::Roles),
    /// Shows the status of the whole system and what needs attention
    Status(status::Status),
    /// Shows what needs attention, and acknowledges it
    #[command(args_conflicts_with_subcommands = true)]
    Attention(attention::Attention),
    /// Enqueues a job by the name of its kind
    Enqueue(enqueue::Enqueue),
    /// Finds jobs, says why they do not run, retries and cancels them
    #[command(subcommand)]
    Jobs(jobs::Jobs),
    /// Finds, replays and removes dead letters
    #[command(subcommand)]
    Dead(dead::Dead),
    /// Shows, pauses and resumes queues
    #[command(subcommand)]
    Queues(queues::Queues),
    /// Pauses and limits queues and kinds over all workers
    #[command(subcommand)]
    Brakes(brakes::Brakes),
    /// Shows who subscribes to topics, and publishes
    #[command(subcommand)]
    Topics(topics::Topics),
    /// Shows schedules, makes, changes, pauses, runs and deletes them
    #[command(subcommand)]
    Schedules(schedules::Schedules),
    /// Shows who holds permits and who waits for them, and sets limits
    #[command(subcommand)]
    Semaphores(semaphores::Semaphores),
    /// Shows workers, and asks them to stop
    #[command(args_conflicts_with_subcommands = true)]
    Workers(workers::Workers),
    /// Shows bulk actions, and cancels them
    #[command(subcommand)]
    Operations(operations::Operations),
    /// Seals payloads with another key, or counts them by their keys
    Reseal(reseal::Reseal),
    /// Looks for what is wrong; its exit status is 1 when something is
    Doctor(doctor::Doctor),
    /// Serves a dashboard of its own
    Serve(serve::Serve),
    /// Measures what this database can do: enqueue, drain, latency
    Bench(bench::Bench),
}

/// Reads the command line of this process and does what it says. Call it as the whole `main` of a
/// binary of your own, if that binary links the crates with your jobs: then an edited payload has
/// to be one of its kind before a dead letter is replayed with it.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let json = cli.json;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let answered = match runtime {
        Ok(runtime) => runtime.block_on(run(cli)),
        Err(error) => Err(Failure::refused(format!("no threads can be started: {error}"))),
    };
    match answered {
        Ok(answer) => answer.print(json),
        Err(failure) => failure.print(),
    }
}

async fn run(cli: Cli) -> Answered {
    if let Command::Migrate(migrate::Migrate { print_sql: true }) = cli.command {
        return Ok(migrate::sql());
    }
    if let Command::Roles(roles) = &cli.command {
        return roles.sql();
    }
    if let Command::Serve(serve) = &cli.command {
        serve.check()?;
    }
    let url = cli.database_url.filter(|url| !url.is_empty());
    let missing = || Failure::usage("say where the database is: set DATABASE_URL");
    let url = url.ok_or_else(missing)?;
    let admin = match cli.command {
        // Its pages say so when the database is not there.
        Command::Serve(_) => Admin::connect_lazy(&url)?,
        _ => Admin::connect(&url).await?,
    };
    let actor = cli.actor.unwrap_or_else(user);
    reseal::keys()?;
    let redaction = if cli.reveal { Redaction::Nothing } else { Redaction::Marked };
    let desk = Desk { admin: admin.acting_as(&actor), actor, redaction, json: cli.json };
    match answered(cli.command, &desk).await {
        Err(failure) => Err(failure.explained(&desk.admin).await),
        answer => answer,
    }
}

async fn answered(command: Command, desk: &Desk) -> Answered {
    match command {
        Command::Migrate(_) => migrate::run(desk).await,
        Command::Roles(command) => command.sql(),
        Command::Status(command) => command.run(desk).await,
        Command::Attention(command) => command.run(desk).await,
        Command::Enqueue(command) => command.run(desk).await,
        Command::Jobs(command) => command.run(desk).await,
        Command::Dead(command) => command.run(desk).await,
        Command::Queues(command) => command.run(desk).await,
        Command::Brakes(command) => command.run(desk).await,
        Command::Schedules(command) => command.run(desk).await,
        Command::Topics(command) => command.run(desk).await,
        Command::Semaphores(command) => command.run(desk).await,
        Command::Workers(command) => command.run(desk).await,
        Command::Operations(command) => command.run(desk).await,
        Command::Reseal(command) => command.run(desk).await,
        Command::Doctor(command) => command.run(desk).await,
        Command::Serve(command) => command.run(desk).await,
        Command::Bench(command) => command.run(desk).await,
    }
}

/// The user of the operating system, as far as the environment tells.
fn user() -> String {
    let named = ["USER", "LOGNAME", "USERNAME"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|user| !user.is_empty()));
    named.unwrap_or_else(|| "jobkit".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_makes_sense() {
        super::Cli::command().debug_assert();
    }
}
