use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use jobkit::Admin;
use jobkit::JobType;
use jobkit::admin::AdminError;
use jobkit::admin::jobs::JobQuery;
use jobkit::admin::operations::BulkAction;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

use crate::address::Allowed;
use crate::connection::Connector;
use crate::endpoint::{AnyEndpoints, Endpoints};
use crate::{Answer, DeliverWebhook, Endpoint, Event, Failure};

/// Sends webhooks. It is the state of [`DeliverWebhook`]: give it to
/// [`Worker::state`](jobkit::Worker::state).
///
/// Cheap to clone.
#[derive(Clone)]
pub struct Webhooks {
    pub(crate) endpoints: Arc<dyn AnyEndpoints>,
    admin: Admin,
    connector: Connector,
}

impl fmt::Debug for Webhooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhooks").field("connector", &self.connector).finish_non_exhaustive()
    }
}

impl Webhooks {
    /// The longest time that an answer may take.
    const LONGEST: Duration = Duration::from_secs(60);

    /// Sends to these endpoints. The `Admin`, for the database of the jobs, discards the events
    /// that wait for an endpoint that is gone.
    ///
    /// TLS trusts the certificates that the system trusts. If there are none (in an empty
    /// container, say), a warning is logged, and no `https` request succeeds.
    #[must_use]
    pub fn new(endpoints: impl Endpoints, admin: Admin) -> Self {
        let connector = Connector {
            allowed: Allowed::default(),
            timeout: Duration::from_secs(20),
            tls: Arc::new(trusting_the_system()),
        };
        Self {
            endpoints: Arc::new(endpoints),
            admin: admin.acting_as("jobkit-webhooks"),
            connector,
        }
    }

    /// Allows requests to a network that is not public, also by `http`: for endpoints in your own
    /// network, and for tests. Otherwise only public addresses are reached, and only by `https`.
    ///
    /// ```no_run
    /// # fn f(webhooks: jobkit_webhooks::Webhooks) -> Result<(), Box<dyn std::error::Error>> {
    /// let webhooks = webhooks.allow("127.0.0.0/8".parse()?);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn allow(mut self, net: IpNet) -> Self {
        self.connector.allowed.0.push(net);
        self
    }

    /// How long an answer may take, counted from the look-up of the name: 20 seconds by default, a
    /// minute at most.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.connector.timeout = limit.min(Self::LONGEST);
        self
    }

    /// Uses this TLS configuration: for a certificate authority of your own, or a client
    /// certificate. Its ALPN must not offer HTTP/2.
    #[must_use]
    pub fn tls(mut self, config: impl Into<Arc<ClientConfig>>) -> Self {
        self.connector.tls = config.into();
        self
    }

    /// Sends one signed request now and returns the answer, whatever it is: without a job, without
    /// retries, and nothing is switched off. Use it on the page where somebody enters an endpoint.
    ///
    /// # Errors
    /// [`Failure`] if there is no answer.
    pub async fn test_delivery(
        &self,
        endpoint: &Endpoint,
        event: &Event,
    ) -> Result<Answer, Failure> {
        let (id, body) = event.parts();
        self.post(endpoint, id, body).await
    }

    pub(crate) async fn post(
        &self,
        endpoint: &Endpoint,
        id: &str,
        body: &str,
    ) -> Result<Answer, Failure> {
        self.connector.post(endpoint, id, body).await
    }

    /// Discards the events that wait for an endpoint: ready, blocked, or between two attempts.
    /// Workers do it within seconds. A second call with the same key does nothing.
    pub(crate) async fn discard_waiting(
        &self,
        endpoint: &str,
        why: &str,
        key: &str,
    ) -> Result<(), AdminError> {
        let query = JobQuery {
            kind: Some(DeliverWebhook::POLICY.kind.to_owned()),
            key: Some(endpoint.to_owned()),
            ..JobQuery::default()
        };
        let discard = BulkAction::Discard(query);
        self.admin.begin_operation(&discard, why, key).await.map(drop)
    }
}

fn trusting_the_system() -> ClientConfig {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    let (added, _unreadable) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        let errors = found.errors;
        tracing::warn!(?errors, "jobkit-webhooks: the system trusts no certificate authority");
    }
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring has what TLS 1.2 and 1.3 need")
        .with_root_certificates(roots)
        .with_no_client_auth()
}
