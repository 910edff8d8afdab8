use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tokio::sync::Notify;

use crate::lock::Lock;
use crate::returned::{HandlerFuture, Returned};
use crate::{JobError, Result};

/// The handler within layers. It is polled wherever its layer is, which may be another task, but
/// the layer does not own it: when the attempt ends, it is dropped, whatever became of the layer.
pub(crate) struct Inside {
    state: Lock<State>,
    left: Notify,
}

struct State {
    /// `None` while it is being polled, and after its end.
    handler: Option<HandlerFuture>,
    /// The waker of the task that polls it, to wake it at the end.
    waker: Option<Waker>,
    polled: bool,
    over: bool,
    /// What the handler returned, which layers do not see.
    returned: Option<Returned>,
}

impl Inside {
    pub(super) fn new(handler: HandlerFuture) -> Arc<Self> {
        let state = State {
            handler: Some(handler),
            waker: None,
            polled: false,
            over: false,
            returned: None,
        };
        Arc::new(Self { state: Lock::new(state), left: Notify::new() })
    }

    /// The handler's future. [`Next`](super::Next) makes one at most.
    pub(super) fn handler(self: Arc<Self>) -> Handler {
        Handler(self)
    }

    /// What the handler returned; nothing if no layer ran it.
    pub(super) fn returned(&self) -> Returned {
        self.state.lock().returned.take().unwrap_or(Returned::Nothing)
    }

    /// Ends the attempt: drops the handler, and completes once nobody polls it any more.
    ///
    /// # Errors
    /// A panic of the drop.
    pub(crate) async fn end(&self) -> Result<(), Box<dyn Any + Send>> {
        let dropped = catch_unwind(AssertUnwindSafe(|| self.close()));
        loop {
            let mut left = std::pin::pin!(self.left.notified());
            // Enabled first: a poll that ends between the check and the wait must be noticed.
            left.as_mut().enable();
            if !self.state.lock().polled {
                return dropped;
            }
            left.await;
        }
    }

    fn close(&self) {
        let mut state = self.state.lock();
        state.over = true;
        let (handler, waker) = (state.handler.take(), state.waker.take());
        drop(state);
        waker.into_iter().for_each(Waker::wake);
        drop(handler);
    }

    /// Takes the handler for a poll; `None` after its end.
    fn take(&self) -> Option<HandlerFuture> {
        let mut state = self.state.lock();
        let handler = state.handler.take();
        state.polled = handler.is_some();
        handler
    }

    /// Keeps a pending handler for its next poll; returns it if its attempt has ended meanwhile.
    fn put_back(&self, handler: HandlerFuture, waker: &Waker) -> Option<HandlerFuture> {
        let mut state = self.state.lock();
        if state.over {
            return Some(handler);
        }
        (state.handler, state.polled) = (Some(handler), false);
        match &mut state.waker {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
        None
    }

    /// The handler is gone, and its attempt may end.
    fn leave(&self) {
        self.state.lock().polled = false;
        self.left.notify_waiters();
    }
}

impl fmt::Debug for Inside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inside").finish_non_exhaustive()
    }
}

/// What a handler returns to a layer that outlives its attempt.
const OVER: &str = "the attempt is over";

/// Polls the handler of an attempt.
pub(super) struct Handler(Arc<Inside>);

impl Future for Handler {
    type Output = Result;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result> {
        let Some(mut handler) = self.0.take() else {
            return Poll::Ready(Err(JobError::from(OVER)));
        };
        let polled = catch_unwind(AssertUnwindSafe(|| handler.as_mut().poll(cx)));
        let result = match polled {
            Ok(Poll::Pending) => match self.0.put_back(handler, cx.waker()) {
                None => return Poll::Pending,
                Some(ended) => {
                    handler = ended;
                    Err(JobError::from(OVER))
                }
            },
            Ok(Poll::Ready(result)) => {
                result.map(|value| self.0.state.lock().returned = Some(value))
            }
            Err(panic) => Err(JobError::panicked(panic)),
        };
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(handler)));
        self.0.leave();
        Poll::Ready(dropped.map_or_else(|panic| Err(JobError::panicked(panic)), |()| result))
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        self.0.close();
    }
}
