use std::sync::Arc;

use crate::store::Serves;

/// Slots, and the queues whose jobs run in them.
#[derive(Debug, Clone)]
pub(crate) struct Served {
    /// The queue, or those that share the slots.
    pub(crate) names: Vec<Named>,
    pub(crate) order: Order,
    /// How many of their jobs may run here at a time.
    pub(crate) slots: usize,
}

/// A queue, or a pattern: all queues with this prefix.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    pub(crate) name: Arc<str>,
    pub(crate) weight: u32,
    is_pattern: bool,
}

/// Which of the queues that share slots are asked first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// The one that is named first.
    AsNamed,
    /// The one that has had the fewest jobs, by its weight.
    ByWeight,
}

impl Served {
    /// A queue, or a pattern, with slots of its own.
    pub(crate) fn one(name: impl Into<Arc<str>>, slots: usize) -> Self {
        Self { names: vec![Named::new(name, 1)], order: Order::ByWeight, slots }
    }

    /// A queue of this very name.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn queue(name: impl Into<Arc<str>>, slots: usize) -> Self {
        let named = Named { name: name.into(), weight: 1, is_pattern: false };
        Self { names: vec![named], order: Order::ByWeight, slots }
    }

    /// Whether more than one queue may run jobs in these slots.
    pub(crate) fn is_shared(&self) -> bool {
        self.names.len() > 1 || self.names.iter().any(|named| named.prefix().is_some())
    }

    /// How messages name it.
    pub(crate) fn title(&self) -> String {
        let names: Vec<String> =
            self.names.iter().map(|named| format!("`{}`", named.name)).collect();
        names.join(", ")
    }
}

impl Named {
    pub(crate) fn new(name: impl Into<Arc<str>>, weight: u32) -> Self {
        let name = name.into();
        let is_pattern = name.ends_with('*');
        Self { name, weight, is_pattern }
    }

    /// The prefix, if it is a pattern.
    pub(crate) fn prefix(&self) -> Option<&str> {
        self.name.strip_suffix('*').filter(|_| self.is_pattern)
    }
}

/// As a registration lists them.
pub(crate) fn listed(served: &[Served]) -> Serves<'_> {
    let number = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    let mut serves = Serves::default();
    for (pool, served) in served.iter().enumerate() {
        for named in &served.names {
            let weight = i32::try_from(named.weight).unwrap_or(i32::MAX);
            let weighted = served.is_shared() && served.order == Order::ByWeight;
            serves.names.push(&*named.name);
            serves.slots.push(number(served.slots));
            serves.pools.push(served.is_shared().then(|| number(pool + 1)));
            serves.weights.push(weighted.then_some(weight));
        }
    }
    serves
}
