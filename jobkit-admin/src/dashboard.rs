use std::future::Future;
use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use jobkit::Admin;
use tokio::sync::Semaphore;

use crate::access::{ANYBODY, Access, Permissions, is_called_by_own_name};
use crate::cached::Cached;
use crate::routes;
use crate::shared::{Accent, Decision, Hook, Shared};
use crate::signals::{Signals, Stop, never};
use crate::totals::Totals;

/// Exports that may be read at a time.
const EXPORTS: usize = 2;

/// Requests that may wait for running jobs at a time, out of [all
/// requests](crate::guard::REQUESTS).
const WAITS: usize = 2;

/// The state of a [`Dashboard`] for which nobody has decided yet who may use it.
#[derive(Debug, Clone, Copy)]
pub struct Undecided;

/// Who may use the [`Dashboard`].
#[derive(Clone)]
pub struct Decided(Hook);

/// The dashboard: a router for your web server.
///
/// It cannot be built before you decide who may use it:
///
/// ```no_run
/// use axum::http::StatusCode;
/// use axum::http::request::Parts;
/// use jobkit_admin::{Access, Dashboard, Permissions};
///
/// async fn who(request: Parts) -> Result<Access, StatusCode> {
///     match request.headers.get("x-user").and_then(|user| user.to_str().ok()) {
///         Some(user) => Ok(Access::new(user, Permissions::operator())),
///         None => Err(StatusCode::UNAUTHORIZED),
///     }
/// }
///
/// # fn f(admin: jobkit::Admin) {
/// let jobs = Dashboard::new(admin).access(who).into_router();
/// let app: axum::Router = axum::Router::new().nest_service("/jobs", jobs);
/// # }
/// ```
///
/// Without that decision, the code does not compile:
///
/// ```compile_fail,E0599
/// # fn f(admin: jobkit::Admin) {
/// let jobs = jobkit_admin::Dashboard::new(admin).into_router();
/// # }
/// ```
///
/// # Where to mount it
///
/// Anywhere: with `nest_service("/jobs", …)`, also below another prefix; with `nest("/jobs", …)`,
/// with which axum does not match `/jobs/`; with `merge`; or as the whole application. The
/// dashboard finds its prefix in each request. Only a prefix that a proxy strips has to be set:
/// see [`base_path`](Self::base_path).
///
/// # Database connections
///
/// Calls of [`Admin`] run on their own connections, made with the options of the pool it was given;
/// a few idle ones are kept for the next calls. A statement is cancelled after 5 seconds. At most
/// [`REQUESTS`](crate::REQUESTS) requests are served at a time, so at most that many connections
/// are in use; the pool of your application is not used.
pub struct Dashboard<A = Undecided> {
    admin: Admin,
    instance: String,
    accent: Accent,
    base_path: String,
    read_only: bool,
    stop: Stop,
    access: A,
}

impl Dashboard<Undecided> {
    /// A dashboard for the database of this [`Admin`].
    #[must_use]
    pub fn new(admin: Admin) -> Self {
        Self {
            admin,
            instance: String::new(),
            accent: Accent::default(),
            base_path: String::new(),
            read_only: false,
            stop: never(),
            access: Undecided,
        }
    }

    /// Calls this hook for every request. It returns who sent the request and what they may do, or
    /// a response that refuses it, such as a redirect to your login page, a 401 or a 403. It gets
    /// the head of the request, including the extensions set by outer layers.
    ///
    /// Static files (scripts, styles), which are the same for everyone, are served without calling
    /// it. So are `/healthz` and `/readyz`, which reveal only whether the database answers.
    #[must_use]
    pub fn access<F, V, R>(self, hook: F) -> Dashboard<Decided>
    where
        F: Fn(Parts) -> V + Send + Sync + 'static,
        V: Future<Output = Result<Access, R>> + Send + 'static,
        R: IntoResponse,
    {
        let hook = move |parts: Parts| -> Decision {
            let verdict = hook(parts);
            Box::pin(async move { verdict.await.map_err(IntoResponse::into_response) })
        };
        self.decided(Arc::new(hook))
    }

    /// Lets everyone on this machine do everything. Use it only for a server that listens on
    /// loopback; a warning appears in the log and at the top of every page. Only requests to
    /// `localhost` or a loopback address are answered (others get a 421), so that a page of another
    /// site whose name resolves to this machine (DNS rebinding) can do nothing.
    ///
    /// ```no_run
    /// # fn f(admin: jobkit::Admin) {
    /// let jobs = jobkit_admin::Dashboard::new(admin).allow_unauthenticated().into_router();
    /// # }
    /// ```
    #[must_use]
    pub fn allow_unauthenticated(self) -> Dashboard<Decided> {
        tracing::warn!("jobkit.dashboard: everyone on this machine may do everything");
        self.decided(Arc::new(|parts: Parts| {
            let own = is_called_by_own_name(&parts);
            Box::pin(async move { if own { Ok(everybody()) } else { Err(misdirected()) } })
        }))
    }

    /// Like [`allow_unauthenticated`](Self::allow_unauthenticated), but answers requests to any
    /// host name. Use it only where something else controls who can reach the dashboard, such as a
    /// container's network or a proxy that requires a password: it is not protected against DNS
    /// rebinding.
    #[must_use]
    pub fn allow_unauthenticated_by_any_name(self) -> Dashboard<Decided> {
        tracing::warn!("jobkit.dashboard: everyone who reaches it may do everything");
        self.decided(Arc::new(|_| Box::pin(async { Ok(everybody()) })))
    }

    fn decided(self, hook: Hook) -> Dashboard<Decided> {
        let Self { admin, instance, accent, base_path, read_only, stop, access: Undecided } = self;
        Dashboard { admin, instance, accent, base_path, read_only, stop, access: Decided(hook) }
    }
}

fn everybody() -> Access {
    Access::new(ANYBODY, Permissions::admin())
}

/// The answer to a request for another host name.
fn misdirected() -> Response {
    let text = "Without a password, the dashboard is served on localhost only.\n";
    (StatusCode::MISDIRECTED_REQUEST, text).into_response()
}

impl<A> Dashboard<A> {
    /// A name that tells this installation apart from others, such as `staging`; shown at the top
    /// of every page and in its title.
    #[must_use]
    pub fn instance(mut self, name: impl Into<String>) -> Self {
        self.instance = name.into();
        self
    }

    /// The colour of that name, so that nobody mistakes one installation for another.
    ///
    /// ```no_run
    /// # use jobkit_admin::{Accent, Dashboard};
    /// # fn f(admin: jobkit::Admin) {
    /// let jobs = Dashboard::new(admin).instance("production").accent(Accent::Red);
    /// # }
    /// ```
    #[must_use]
    pub fn accent(mut self, accent: Accent) -> Self {
        self.accent = accent;
        self
    }

    /// The path prefix that a proxy strips before it forwards requests, such as `/internal`. Links
    /// begin with it.
    #[must_use]
    pub fn base_path(mut self, path: impl Into<String>) -> Self {
        let path = path.into();
        let path = path.trim_matches('/');
        self.base_path = if path.is_empty() { String::new() } else { format!("/{path}") };
        self
    }

    /// Ends the streams of open pages once this completes. Otherwise a server that shuts down
    /// gracefully waits for them, up to 25 seconds. Give both the same signal, such as
    /// [`WorkerHandle::stopping`](jobkit::WorkerHandle::stopping).
    ///
    /// ```ignore
    /// let jobs = Dashboard::new(admin).stop_with(worker.stopping()).access(who).into_router();
    /// let app = Router::new().nest_service("/jobs", jobs);
    /// let server = axum::serve(listener, app).with_graceful_shutdown(worker.stopping());
    /// tokio::try_join!(server.into_future(), worker.run_until_signal())?;
    /// ```
    #[must_use]
    pub fn stop_with(mut self, signal: impl Future<Output = ()> + Send + 'static) -> Self {
        self.stop = signal.boxed().shared();
        self
    }

    /// Makes the dashboard read-only for everyone, whatever the hook returns.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }
}

impl Dashboard<Decided> {
    /// The router. It answers unknown paths and sets its own headers.
    pub fn into_router(self) -> Router {
        let Self { admin, instance, accent, base_path, read_only, stop, access: Decided(hook) } =
            self;
        routes::router(Shared {
            admin,
            instance,
            accent,
            base_path,
            read_only,
            hook,
            signals: Signals::new(stop),
            exports: Arc::new(Semaphore::new(EXPORTS)),
            waits: Semaphore::new(WAITS),
            overview: Cached::default(),
            totals: Totals::default(),
        })
    }
}
