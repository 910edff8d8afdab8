//! Signals that ask the process to stop.

use std::io;

/// Completes on SIGINT or SIGTERM.
#[cfg(unix)]
pub(super) fn asked_to_stop() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Completes on Ctrl-C.
#[cfg(not(unix))]
pub(super) fn asked_to_stop() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        let _asked = tokio::signal::ctrl_c().await;
    })
}
