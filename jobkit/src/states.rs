use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

/// The values set with [`Worker::state`](crate::Worker::state), by type. `()` is always among them.
pub(crate) struct States(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl Default for States {
    fn default() -> Self {
        let mut states = Self(HashMap::new());
        states.insert(());
        states
    }
}

impl States {
    /// Adds a value; false when there already was one of this type (which then stays).
    pub(crate) fn insert<S: Send + Sync + 'static>(&mut self, state: S) -> bool {
        let free = !self.contains(TypeId::of::<S>());
        if free {
            self.0.insert(TypeId::of::<S>(), Arc::new(state));
        }
        free
    }

    pub(crate) fn contains(&self, state: TypeId) -> bool {
        self.0.contains_key(&state)
    }

    pub(crate) fn get<S: Send + Sync + 'static>(&self) -> Option<Arc<S>> {
        let state = Arc::clone(self.0.get(&TypeId::of::<S>())?);
        state.downcast().ok()
    }
}
