//! Code around the handlers of a worker: to time them, to limit them, to give each a trace or a
//! scope.
//!
//! ```no_run
//! use jobkit::{JobContext, Worker, around::Next};
//! # async fn f(pool: sqlx::PgPool) -> Result<(), jobkit::error::StartError> {
//! let worker = Worker::new(pool).queue("mail", 20).around(async |cx: JobContext, next: Next| {
//!     let began = std::time::Instant::now();
//!     let result = next.run().await;
//!     println!("{} took {:?}", cx.kind(), began.elapsed());
//!     result
//! });
//! # worker.start().await?; Ok(()) }
//! ```
//!
//! Layers are your code, and are treated like handlers: the kind's timeout covers layers and
//! handler together, a stop asks and then drops them together, and a panic is a failed attempt.
//! Whatever a layer does, the job has exactly one outcome, and no handler outlives its attempt.
//!
//! A layer is not a `tower::Layer`: tower's middleware may call a service again, later or never,
//! and retries, rates and timeouts are what jobkit decides and stores. A handler may call any tower
//! service.

mod inside;

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

pub(crate) use self::inside::Inside;
use crate::returned::{HandlerFuture, Returned};
use crate::{JobContext, Result};

/// A layer around handlers. Implemented for every closure with the signature of
/// [`around`](Self::around).
///
/// ```
/// use std::sync::Arc;
/// use jobkit::{JobContext, JobError, around::{Around, Next}};
/// use tokio::sync::Semaphore;
///
/// /// At most so many handlers reach the printer at a time, in this process.
/// struct Printer(Arc<Semaphore>);
///
/// impl Around for Printer {
///     async fn around(&self, _cx: JobContext, next: Next) -> jobkit::Result {
///         let _turn = self.0.acquire().await?;
///         next.run().await
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a layer",
    note = "write `async |cx: JobContext, next: Next| {{ next.run().await }}`, with both types, or \
            `impl jobkit::around::Around for {Self}`"
)]
pub trait Around: Send + Sync + 'static {
    /// Runs one attempt: `next`, and whatever should happen before and after it.
    ///
    /// What this returns is the outcome, as if the handler had returned it; with `Ok` the
    /// [result](macro@crate::job#results) of the handler is kept, if it ran. `cx` is the context
    /// that the handler gets, without its state and the payload. Its [span](JobContext::span) is
    /// not entered until `next` runs.
    fn around(&self, cx: JobContext, next: Next) -> impl Future<Output = Result> + Send;
}

impl<F, R> Around for F
where
    F: Fn(JobContext, Next) -> R + Send + Sync + 'static,
    R: Future<Output = Result> + Send,
{
    fn around(&self, cx: JobContext, next: Next) -> impl Future<Output = Result> + Send {
        self(cx, next)
    }
}

/// [`Around`], boxed.
pub(crate) trait Layer: Send + Sync {
    fn run(&self, cx: JobContext, next: Next) -> Step<'_>;
}

type Step<'a> = Pin<Box<dyn Future<Output = Result> + Send + 'a>>;

impl<A: Around> Layer for A {
    fn run(&self, cx: JobContext, next: Next) -> Step<'_> {
        Box::pin(self.around(cx, next))
    }
}

/// Layers, the outermost first.
pub(crate) type Stack = Arc<[Arc<dyn Layer>]>;

/// What is inside a layer: the layers after it and, innermost, the handler.
///
/// It can be run once, or not at all: the job's outcome is what the layer returns. Dropping the
/// future drops the handler. So does the end of the layer, wherever the future is by then.
#[must_use = "the handler does not run unless this does"]
pub struct Next {
    stack: Stack,
    at: usize,
    cx: JobContext,
    inside: Arc<Inside>,
}

impl Next {
    /// Runs what is inside the layer. A panic of the handler is returned as an error, as is a
    /// payload that cannot be decoded.
    ///
    /// It takes `self`, so no layer can run a handler twice:
    ///
    /// ```compile_fail
    /// # use jobkit::{JobContext, around::Next};
    /// async fn twice(_cx: JobContext, next: Next) -> jobkit::Result {
    ///     next.run().await?;
    ///     next.run().await
    /// }
    /// ```
    ///
    /// # Errors
    /// What the handler or an inner layer returns.
    pub async fn run(self) -> Result {
        let Self { stack, at, cx, inside } = self;
        match stack.get(at).map(Arc::clone) {
            Some(layer) => {
                let next = Self { stack, at: at + 1, cx: cx.clone(), inside };
                layer.run(cx, next).await
            }
            None => inside.handler().await,
        }
    }

    /// Creates a `Next` that runs this future instead of a handler, to test a layer.
    pub fn for_test(handler: impl Future<Output = Result> + Send + 'static) -> Self {
        let inside = Inside::new(Box::pin(async { handler.await.map(|()| Returned::Nothing) }));
        Self { stack: Arc::new([]), at: 0, cx: JobContext::for_test(()), inside }
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").field("layers", &(self.stack.len() - self.at)).finish()
    }
}

/// The layers of a worker, by the kinds they are around.
#[derive(Default)]
pub(crate) struct Layers {
    of_all: Option<Stack>,
    of_kinds: HashMap<&'static str, Stack>,
}

impl Layers {
    /// Of the layers as they were given, each with the kind it is for; those for all kinds are
    /// around those for one.
    pub(crate) fn new(given: Vec<(Option<&'static str>, Arc<dyn Layer>)>) -> Self {
        let of = |kind: Option<&'static str>| {
            let layers = given.iter().filter(move |(of, _)| *of == kind);
            layers.map(|(_, layer)| Arc::clone(layer))
        };
        let kinds = given.iter().filter_map(|(kind, _)| *kind);
        let stack = |kind| (kind, of(None).chain(of(Some(kind))).collect());
        let of_kinds = kinds.map(stack).collect();
        let of_all: Stack = of(None).collect();
        Self { of_all: Some(of_all).filter(|layers| !layers.is_empty()), of_kinds }
    }

    /// Those around a kind, if there are any.
    pub(crate) fn of(&self, kind: &str) -> Option<&Stack> {
        if self.of_kinds.is_empty() {
            return self.of_all.as_ref();
        }
        self.of_kinds.get(kind).or(self.of_all.as_ref())
    }
}

/// A handler within layers, as one future; and what is inside of them, which has to
/// [end](Inside::end) with it.
pub(crate) fn layered(
    stack: &Stack,
    cx: JobContext,
    handler: HandlerFuture,
) -> (HandlerFuture, Arc<Inside>) {
    let inside = Inside::new(handler);
    let next = Next { stack: Arc::clone(stack), at: 0, cx, inside: Arc::clone(&inside) };
    let returned = Arc::clone(&inside);
    (Box::pin(async move { next.run().await.map(|()| returned.returned()) }), inside)
}
