//! The command line: what the dashboard does, for shells and scripts. The binary `jobkit` only
//! calls [`main`].
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
//! jobkit batches --open
//! jobkit batch 7                              # its counts, callbacks and members
//! jobkit dead replay-all --kind charge_card   # says what it would do; --yes does it
//! jobkit doctor --json
//! jobkit reseal --dry-run                     # how many payloads are sealed with which key
//! jobkit serve                                # the dashboard, as its own server
//! jobkit bench                                # how fast this database is
//! ```
//!
//! `jobkit help <command>` describes a command. With `--json` every command prints one document,
//! with the names and values of the dashboard's `/api/v1`; ids are strings, so that no program
//! rounds them. In text output, control and invisible characters are escaped. Redacted fields of
//! payloads are hidden unless `--reveal` is given.
//!
//! **Exit status**: 0 on success; 1 when something was not found, refused or not done, or when the
//! doctor found a problem; 2 when the command line is invalid. Errors go to stderr.
//!
//! **The audit log** records who ran a command: `--actor`, by default the operating-system user.
//!
//! **Payloads of kinds that encrypt fields** are sealed, and resealed, with the keys in
//! `JOBKIT_KEYS`, as [`Keyring`](jobkit::policy::encryption::Keyring) reads them. Sealed values are
//! never shown decrypted.
//!
//! **The dashboard of `serve`** requires a password by HTTP basic authentication. Unless you set
//! one, it generates one and prints it. Any user name is accepted and recorded in the audit log.
//! The server speaks plain HTTP: where others could listen, put a TLS proxy in front of it.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use jobkit::Admin;

use crate::access::Redaction;

mod answer;
mod arguments;
mod attention;
mod batches;
mod bench;
mod dead;
mod desk;
mod doctor;
mod enqueue;
mod guesses;
mod jobs;
mod limits;
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

/// The heading of the options common to all commands.
const GLOBAL: &str = "Options of all commands";

/// Manages the jobs of a jobkit database.
#[derive(Debug, Parser)]
#[command(name = "jobkit", version, max_term_width = 100)]
#[command(after_help = "Exit status: 0 success; 1 not found, refused or not done, or the doctor \
    found a problem; 2 invalid command line.")]
struct Cli {
    /// The database URL: postgres://user:password@host:5432/database
    ///
    /// If it lists several hosts (a:5432,b:5432), the one that accepts writes is used, or with
    /// ?target_session_attrs=any the first that answers.
    ///
    /// Other users of this machine can see command lines: prefer the environment variable.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "URL")]
    #[arg(env = "DATABASE_URL", hide_env_values = true)]
    database_url: Option<String>,
    /// Prints one JSON document
    #[arg(long, global = true, help_heading = GLOBAL)]
    json: bool,
    /// The actor to record in the audit log [default: the operating-system user]
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "NAME")]
    actor: Option<String>,
    /// Shows redacted fields of payloads
    #[arg(long, global = true, help_heading = GLOBAL)]
    reveal: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Migrates the database schema to the version of this binary
    Migrate(migrate::Migrate),
    /// Prints the SQL for roles of producers, workers, viewers and operators
    Roles(roles::Roles),
    /// Shows the status of the whole system and what needs attention
    Status(status::Status),
    /// Shows what needs attention, and acknowledges it
    #[command(args_conflicts_with_subcommands = true)]
    Attention(attention::Attention),
    /// Enqueues a job of a given kind
    Enqueue(enqueue::Enqueue),
    /// Finds jobs, explains why they are not running, retries and cancels them
    #[command(subcommand)]
    Jobs(jobs::Jobs),
    /// Finds, replays and removes dead letters
    #[command(subcommand)]
    Dead(dead::Dead),
    /// Shows queues
    #[command(subcommand)]
    Queues(queues::Queues),
    /// Pauses and limits queues, kinds and concurrency keys across all workers
    #[command(subcommand)]
    Limits(limits::Limits),
    /// Shows topics and their subscribers, and publishes to topics
    #[command(subcommand)]
    Topics(topics::Topics),
    /// Shows, creates, changes, pauses, runs and deletes schedules
    #[command(subcommand)]
    Schedules(schedules::Schedules),
    /// Shows which jobs hold permits of concurrency keys, and which wait for them
    #[command(subcommand)]
    Semaphores(semaphores::Semaphores),
    /// Shows workers, and asks them to stop
    #[command(args_conflicts_with_subcommands = true)]
    Workers(workers::Workers),
    /// Shows batches, their callbacks and members, and cancels them
    #[command(visible_alias = "batch", args_conflicts_with_subcommands = true)]
    Batches(batches::Batches),
    /// Shows bulk actions, and cancels them
    #[command(subcommand)]
    Operations(operations::Operations),
    /// Reseals payloads with another key, or counts them by key
    Reseal(reseal::Reseal),
    /// Looks for problems; exits with status 1 if it finds any
    Doctor(doctor::Doctor),
    /// Serves the dashboard on its own, without an application
    Serve(serve::Serve),
    /// Measures this database: enqueue rate, drain rate, latency
    Bench(bench::Bench),
}

/// Runs the command line with the arguments of this process. If your own binary links the crates
/// of your jobs and calls this as its whole `main`, it refuses to replay a dead letter with an
/// edited payload that its kind cannot decode.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let json = cli.json;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let answered = match runtime {
        Ok(runtime) => runtime.block_on(run(cli)),
        Err(error) => Err(Failure::refused(format!("cannot start threads: {error}"))),
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
    let missing = || Failure::usage("no database URL was given: set DATABASE_URL");
    let url = url.ok_or_else(missing)?;
    let admin = match cli.command {
        // It starts even if the database is down; its pages report that.
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
        Command::Limits(command) => command.run(desk).await,
        Command::Schedules(command) => command.run(desk).await,
        Command::Topics(command) => command.run(desk).await,
        Command::Semaphores(command) => command.run(desk).await,
        Command::Workers(command) => command.run(desk).await,
        Command::Batches(command) => command.run(desk).await,
        Command::Operations(command) => command.run(desk).await,
        Command::Reseal(command) => command.run(desk).await,
        Command::Doctor(command) => command.run(desk).await,
        Command::Serve(command) => command.run(desk).await,
        Command::Bench(command) => command.run(desk).await,
    }
}

/// The operating-system user, taken from the environment.
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
