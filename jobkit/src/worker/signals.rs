use std::{io, thread};

use tokio::runtime::Builder;
use tokio::sync::watch;

/// The signals with which a supervisor, or somebody at a terminal, ends a process. They are
/// received on a thread of their own, so that a handler that blocks the runtime does not block
/// them. The thread ends when this is dropped.
pub(super) struct Signals(watch::Receiver<u32>);

impl Signals {
    /// From here on these signals no longer end the process. `told` is called for each, on the
    /// thread that receives it and within a runtime, with its number, from 1.
    pub(super) fn listen(mut told: impl FnMut(u32) + Send + 'static) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let mut raised = {
            let _entered = runtime.enter();
            Raised::listen()?
        };
        let (tell, heard) = watch::channel(0);
        let hear = async move {
            loop {
                tokio::select! {
                    () = tell.closed() => return,
                    () = raised.next() => {}
                }
                tell.send_modify(|number| *number += 1);
                let number = *tell.borrow();
                told(number);
            }
        };
        let thread = thread::Builder::new().name("jobkit-signals".to_owned());
        thread.spawn(move || runtime.block_on(hear))?;
        Ok(Self(heard))
    }

    /// Completes at the next signal.
    pub(super) async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// SIGTERM and SIGINT.
#[cfg(unix)]
struct Raised {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Raised {
    fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let terminate = signal(SignalKind::terminate())?;
        Ok(Self { terminate, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Ctrl-C.
#[cfg(not(unix))]
struct Raised;

#[cfg(not(unix))]
impl Raised {
    fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
