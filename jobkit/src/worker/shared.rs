//! The state that the services of a worker share: its slots, the jobs it holds under which claims,
//! running handlers, and wake-ups.

pub(crate) mod ledger;
pub(crate) mod measures;
pub(crate) mod running;
pub(crate) mod slots;
pub(crate) mod wake;
