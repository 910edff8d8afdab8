use std::fmt;
use std::pin::Pin;

/// Where events are sent, and the secrets that sign them.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Such as `https://example.com/webhooks`.
    pub url: String,
    /// Its secrets, as made by [`new_secret`](crate::new_secret). Usually there is one. While you
    /// rotate it there are two, the new one and the old one, for as long as the receiver needs to
    /// switch.
    pub secrets: Vec<String>,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Your endpoints, wherever you keep them.
///
/// An error fails the attempt, which is then retried.
pub trait Endpoints: Send + Sync + 'static {
    /// The endpoint with this id, the one that was given to [`Event::to`](crate::Event::to); `None`
    /// if it no longer exists, or is switched off: the event is discarded then.
    fn find(&self, id: &str) -> impl Future<Output = jobkit::Result<Option<Endpoint>>> + Send;

    /// Switches off an endpoint that wants no more events, with a reason to show to its owner. From
    /// then on [`find`](Self::find) must not find it, and no events should be sent
    /// [to](crate::Event::to) it, until somebody switches it on again. It may already be off.
    fn switch_off(&self, id: &str, why: &str) -> impl Future<Output = jobkit::Result> + Send;
}

type Asked<'a, T> = Pin<Box<dyn Future<Output = jobkit::Result<T>> + Send + 'a>>;

/// [`Endpoints`] of any type.
pub(crate) trait AnyEndpoints: Send + Sync {
    fn find<'a>(&'a self, id: &'a str) -> Asked<'a, Option<Endpoint>>;
    fn switch_off<'a>(&'a self, id: &'a str, why: &'a str) -> Asked<'a, ()>;
}

impl<E: Endpoints> AnyEndpoints for E {
    fn find<'a>(&'a self, id: &'a str) -> Asked<'a, Option<Endpoint>> {
        Box::pin(Endpoints::find(self, id))
    }

    fn switch_off<'a>(&'a self, id: &'a str, why: &'a str) -> Asked<'a, ()> {
        Box::pin(Endpoints::switch_off(self, id, why))
    }
}
