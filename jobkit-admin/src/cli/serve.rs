//! A dashboard with a server of its own.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::header::{HOST, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use serde_json::json;
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

use super::answer::{Answer, Failure, tell};
use super::arguments::Late;
use super::desk::{Answered, Desk};
use super::password::Password;
use super::signal::asked_to_stop;
use crate::access::{Access, Permissions, Redaction};
use crate::dashboard::Dashboard;
use crate::shared::Accent;

/// Completes when the process is asked to stop.
type Stop = Shared<BoxFuture<'static, ()>>;

/// How long requests may take to end once it is to stop.
const GRACE: Duration = Duration::from_secs(3);

/// Where the password may be, so that it need not stand on the command line.
const VARIABLE: &str = "JOBKIT_PASSWORD";

#[derive(Debug, clap::Args)]
#[command(after_help = "Whoever uses it gives a password and any name, which the audit has then. \
    The password is that of --password-file or of JOBKIT_PASSWORD, or is made up and printed once. \
    What happens is logged to stderr, as much as RUST_LOG says.")]
pub(super) struct Serve {
    /// Where it listens; with port 0 on any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7171")]
    bind: SocketAddr,
    /// Reads the password from this file
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// Lets everybody on this machine do everything, without a password
    #[arg(long, conflicts_with = "password_file")]
    allow_unauthenticated: bool,
    /// Lets nobody change anything
    #[arg(long)]
    read_only: bool,
    /// A name to tell this installation from others, such as staging
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    instance: String,
    /// The colour of that name: blue, green, amber, red or violet
    #[arg(long, value_name = "COLOUR", default_value = "blue", value_parser = accent)]
    accent: Accent,
    /// The part of the path that a proxy takes away, such as /internal
    #[arg(long, value_name = "PATH", default_value = "", hide_default_value = true)]
    base_path: String,
    #[command(flatten)]
    late: Late,
}

fn accent(name: &str) -> Result<Accent, String> {
    let named = Accent::ALL.into_iter().find(|accent| accent.as_str() == name);
    named.ok_or_else(|| "there are blue, green, amber, red and violet".to_owned())
}

impl Serve {
    /// Refuses what must not be served, before anything else is done.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.allow_unauthenticated && !self.bind.ip().to_canonical().is_loopback() {
            return Err(Failure::usage(format!(
                "{} can be reached from elsewhere: without a password it listens on loopback only",
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
                "jobkit: it speaks plain HTTP, and can be reached from elsewhere: put a proxy \
                  with TLS before it",
            );
        }
        let stop = asked_to_stop().map_err(|error| Failure::refused(error.to_string()))?;
        let stop = stop.boxed().shared();
        let router = self.router(desk, password.map(|(password, _)| password), stop.clone());
        serve(listener, router, stop).await;
        tell("jobkit: stopped");
        Ok(Answer::nothing())
    }

    /// The password that is wanted, and whether it was made up; none if none is.
    fn password(&self) -> Result<Option<(Password, bool)>, Failure> {
        if self.allow_unauthenticated {
            return Ok(None);
        }
        let password = match (&self.password_file, std::env::var(VARIABLE)) {
            (Some(path), _) => (Password::of_file(path)?, false),
            (None, Ok(text)) => (Password::given(&text)?, false),
            (None, Err(std::env::VarError::NotPresent)) => (Password::made_up()?, true),
            (None, Err(_)) => return Err(Failure::usage(format!("{VARIABLE} is no text"))),
        };
        Ok(Some(password))
    }

    fn router(&self, desk: &Desk, password: Option<Password>, stop: Stop) -> Router {
        let dashboard = Dashboard::new(self.late.of(&desk.admin)).stop_with(stop);
        let dashboard = dashboard.instance(&*self.instance).accent(self.accent);
        let dashboard = dashboard.base_path(&*self.base_path);
        let dashboard = if self.read_only { dashboard.read_only() } else { dashboard };
        let Some(password) = password else {
            let router = dashboard.allow_unauthenticated().into_router();
            return router.layer(from_fn(by_own_name));
        };
        let (password, actor) = (Arc::new(password), Arc::<str>::from(&*desk.actor));
        let redaction = desk.redaction;
        let hook = move |parts: Parts| {
            let access = admit(&password, &actor, redaction, &parts.headers);
            std::future::ready(access.ok_or_else(unauthorized))
        };
        dashboard.access(hook).into_router()
    }
}

fn announcement(address: SocketAddr, password: Option<&str>) -> Answer {
    let url = format!("http://{address}/");
    let secret = password.map(|text| format!("The password is {text}, with any user name.\n"));
    let text = format!("The dashboard is at {url}\n{}", secret.unwrap_or_default());
    Answer::new(json!({"url": url, "password": password}), text)
}

/// Whoever knows the password may do everything, by the name they give.
fn admit(
    password: &Password,
    actor: &str,
    redaction: Redaction,
    headers: &HeaderMap,
) -> Option<Access> {
    let name = password.admits(headers)?;
    let name = if name.is_empty() { actor.to_owned() } else { name };
    Some(Access::new(name, Permissions::admin()).redaction(redaction))
}

/// Has a browser ask for the password.
fn unauthorized() -> Response {
    let realm = [(WWW_AUTHENTICATE, "Basic realm=\"jobkit\", charset=\"UTF-8\"")];
    (StatusCode::UNAUTHORIZED, realm, "A password is required.\n").into_response()
}

/// Answers only where it is called by a name of this machine: another site could have its own name
/// lead here, and its pages would then count as ours.
async fn by_own_name(request: Request, next: Next) -> Response {
    let header = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    if header.is_some_and(is_own_name) {
        return next.run(request).await;
    }
    let text = "Without a password this is served as localhost only.\n";
    (StatusCode::MISDIRECTED_REQUEST, text).into_response()
}

fn is_own_name(host: &str) -> bool {
    let port =
        host.rfind(':').filter(|colon| host[colon + 1..].bytes().all(|b| b.is_ascii_digit()));
    let name = port.map_or(host, |colon| &host[..colon]);
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// Serves until the process is asked to stop.
async fn serve(listener: TcpListener, router: Router, stop: Stop) {
    let server = axum::serve(listener, router).with_graceful_shutdown(stop.clone());
    let server = tokio::spawn(server.into_future());
    stop.await;
    let _ended = tokio::time::timeout(GRACE, server).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine_are_told_from_others() {
        for host in ["localhost", "LocalHost:7171", "127.0.0.1", "127.0.0.2:80", "[::1]:1", "[::1]"]
        {
            assert!(is_own_name(host), "{host}");
        }
        for host in ["", "example.org", "example.org:7171", "127.0.0.1.example.org", "10.0.0.1:1"] {
            assert!(!is_own_name(host), "{host}");
        }
    }
}
