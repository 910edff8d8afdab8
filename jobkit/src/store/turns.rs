use tokio::sync::{Mutex, MutexGuard};

use super::idle::Open;

/// A connection, and whose turn it is to use it.
///
/// First come, first served; but of the patient ones one at a time stands in the queue. So whoever
/// is not patient waits for one call of a patient one at most, and nobody waits for ever.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    patient: Mutex<()>,
    connection: Mutex<Option<Open>>,
}

/// The right to use it, until it is dropped.
pub(super) struct Turn<'a> {
    pub(super) connection: MutexGuard<'a, Option<Open>>,
    _patient: Option<MutexGuard<'a, ()>>,
}

impl Turns {
    /// Waits for a turn.
    pub(super) async fn take(&self, patient: bool) -> Turn<'_> {
        let patient = if patient { Some(self.patient.lock().await) } else { None };
        Turn { connection: self.connection.lock().await, _patient: patient }
    }

    pub(super) fn into_connection(self) -> Option<Open> {
        self.connection.into_inner()
    }
}
