//! The dashboard with its own server.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::{AUTHORIZATION, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use serde_json::json;
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

use super::answer::{Answer, Failure, tell};
use super::arguments::Late;
use super::desk::{Answered, Desk};
use super::guesses::Guesses;
use super::password::Password;
use super::server::{Limits, Peer, Stop, serve};
use super::signal::asked_to_stop;
use crate::access::{Access, Permissions, Redaction};
use crate::dashboard::Dashboard;
use crate::shared::Accent;

/// The environment variable for the password, which keeps it off the command line.
const VARIABLE: &str = "JOBKIT_PASSWORD";

#[derive(Debug, clap::Args)]
#[command(after_help = "Users log in with the password and any user name; the audit log records \
    the name. The password is read from --password-file or JOBKIT_PASSWORD and must have at least \
    12 characters; otherwise one is generated and printed once. After wrong passwords a client \
    must wait, longer each time. Logs go to stderr, at the level set by RUST_LOG.")]
pub(super) struct Serve {
    /// The address to listen on; port 0 takes a free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7171")]
    bind: SocketAddr,
    /// Reads the password from this file
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// Requires no password: everyone on this machine may do everything
    #[arg(long, conflicts_with = "password_file")]
    allow_unauthenticated: bool,
    /// Makes the dashboard read-only for everyone
    #[arg(long)]
    read_only: bool,
    /// A name that tells this installation apart from others, such as staging
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    instance: String,
    /// The colour of that name: blue, green, amber, red or violet
    #[arg(long, value_name = "COLOUR", default_value = "blue", value_parser = accent)]
    accent: Accent,
    /// The path prefix that a proxy strips, such as /internal
    #[arg(long, value_name = "PATH", default_value = "", hide_default_value = true)]
    base_path: String,
    #[command(flatten)]
    late: Late,
}

fn accent(name: &str) -> Result<Accent, String> {
    let named = Accent::ALL.into_iter().find(|accent| accent.as_str() == name);
    named.ok_or_else(|| "must be blue, green, amber, red or violet".to_owned())
}

impl Serve {
    /// Refuses unsafe options before anything else is done.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.allow_unauthenticated && !self.bind.ip().to_canonical().is_loopback() {
            return Err(Failure::usage(format!(
                "{} can be reached from other machines: without a password, bind to loopback only",
                self.bind
            )));
        }
        Ok(())
    }

    pub(super) async fn run(self, desk: &Desk) -> Answered {
        let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| "warn".into());
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).init();
        let unbound = |error| Failure::refused(format!("cannot listen on {}: {error}", self.bind));
        let listener = TcpListener::bind(self.bind).await.map_err(unbound)?;
        let address = listener.local_addr().map_err(unbound)?;
        let password = self.password()?;
        let made_up = password.as_ref().filter(|(_, made_up)| *made_up);
        announcement(address, made_up.map(|(password, _)| password.reveal())).print(desk.json);
        if !address.ip().to_canonical().is_loopback() {
            tell(
                "jobkit: the dashboard speaks plain HTTP and can be reached from other machines: \
                  put a TLS proxy in front of it",
            );
        }
        let stop = asked_to_stop().map_err(|error| Failure::refused(error.to_string()))?;
        let stop = stop.boxed().shared();
        let router = self.router(desk, password.map(|(password, _)| password), stop.clone());
        serve(listener, router, stop, Limits::default()).await;
        tell("jobkit: stopped");
        Ok(Answer::nothing())
    }

    /// The password, and whether it was generated; `None` if no password is required.
    fn password(&self) -> Result<Option<(Password, bool)>, Failure> {
        if self.allow_unauthenticated {
            return Ok(None);
        }
        let password = match (&self.password_file, std::env::var(VARIABLE)) {
            (Some(path), _) => (Password::of_file(path)?, false),
            (None, Ok(text)) => (Password::given(&text)?, false),
            (None, Err(std::env::VarError::NotPresent)) => (Password::made_up()?, true),
            (None, Err(_)) => return Err(Failure::usage(format!("{VARIABLE} is not Unicode"))),
        };
        Ok(Some(password))
    }

    fn router(&self, desk: &Desk, password: Option<Password>, stop: Stop) -> Router {
        let dashboard = Dashboard::new(self.late.of(&desk.admin)).stop_with(stop);
        let dashboard = dashboard.instance(&*self.instance).accent(self.accent);
        let dashboard = dashboard.base_path(&*self.base_path);
        let dashboard = if self.read_only { dashboard.read_only() } else { dashboard };
        let Some(password) = password else {
            return dashboard.allow_unauthenticated().into_router();
        };
        let (actor, redaction) = (desk.actor.clone(), desk.redaction);
        let door = Arc::new(Door { password, guesses: Guesses::default(), actor, redaction });
        dashboard.access(move |parts| std::future::ready(door.admit(&parts))).into_router()
    }
}

fn announcement(address: SocketAddr, password: Option<&str>) -> Answer {
    let url = format!("http://{address}/");
    let secret = password.map(|text| format!("The password is {text}, with any user name.\n"));
    let text = format!("The dashboard is at {url}\n{}", secret.unwrap_or_default());
    Answer::new(json!({"url": url, "password": password}), text)
}

/// Admits users who know the password, with all permissions, under the name they give.
struct Door {
    password: Password,
    guesses: Guesses,
    actor: String,
    redaction: Redaction,
}

impl Door {
    #[allow(clippy::result_large_err, reason = "it is the answer itself")]
    fn admit(&self, request: &Parts) -> Result<Access, Response> {
        // A request without a password is not a guess.
        if !request.headers.contains_key(AUTHORIZATION) {
            return Err(unauthorized());
        }
        let peer = request.extensions.get::<Peer>().map(|Peer(address)| address.ip());
        let peer = peer.unwrap_or(Ipv4Addr::UNSPECIFIED.into());
        let look = || self.password.admits(&request.headers);
        let name = self.guesses.look(peer, Instant::now(), look).map_err(too_many)?;
        let name = name.ok_or_else(unauthorized)?;
        let name = if name.is_empty() { self.actor.clone() } else { name };
        Ok(Access::new(name, Permissions::admin()).redaction(self.redaction))
    }
}

/// Makes a browser ask for the password.
fn unauthorized() -> Response {
    let realm = [(WWW_AUTHENTICATE, "Basic realm=\"jobkit\", charset=\"UTF-8\"")];
    (StatusCode::UNAUTHORIZED, realm, "A password is required.\n").into_response()
}

/// The answer to a peer that must wait before its next password is checked.
fn too_many(wait: Duration) -> Response {
    let seconds = wait.as_secs() + 1;
    let after = [(RETRY_AFTER, seconds.to_string())];
    let text = format!("Too many wrong passwords: try again in {seconds} s.\n");
    (StatusCode::TOO_MANY_REQUESTS, after, text).into_response()
}
