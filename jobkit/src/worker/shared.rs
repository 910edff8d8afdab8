//! What the services of a worker share: its slots, which jobs it holds under which claims, what
//! runs in it, and what wakes it.

pub(crate) mod ledger;
pub(crate) mod measures;
pub(crate) mod running;
pub(crate) mod slots;
pub(crate) mod wake;
