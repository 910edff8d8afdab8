//! The same for programs: JSON below `/api/v1`.

use crate::router::Entry;

/// The routes of the API.
pub(crate) const TABLE: &[Entry] = &[];
