//! A table of endpoints, in memory.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use jobkit::Admin;
use jobkit_tests::Lab;
use jobkit_webhooks::{Endpoint, Endpoints, Webhooks, new_secret};

#[derive(Debug, Clone)]
pub(crate) struct Customer {
    pub(crate) group: String,
    pub(crate) url: String,
    pub(crate) secrets: Vec<String>,
    /// Why it is switched off.
    pub(crate) off: Option<String>,
}

impl Customer {
    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint { url: self.url.clone(), secrets: self.secrets.clone() }
    }

    /// The path of its URL, if it is at this address.
    pub(crate) fn path(&self, address: &SocketAddr) -> Option<String> {
        self.url.strip_prefix(&format!("http://{address}")).map(str::to_owned)
    }
}

/// The endpoints; the id of each is its place.
#[derive(Debug, Clone, Default)]
pub(crate) struct Customers(Arc<Mutex<Vec<Customer>>>);

impl Customers {
    fn lock(&self) -> MutexGuard<'_, Vec<Customer>> {
        self.0.lock().unwrap()
    }

    pub(crate) fn add(&self, url: &str, group: &str) -> usize {
        let mut all = self.lock();
        let (group, url, secrets) = (group.to_owned(), url.to_owned(), vec![new_secret()]);
        all.push(Customer { group, url, secrets, off: None });
        all.len() - 1
    }

    pub(crate) fn all(&self) -> Vec<Customer> {
        self.lock().clone()
    }

    pub(crate) fn change(&self, id: usize, change: impl FnOnce(&mut Customer)) {
        change(&mut self.lock()[id]);
    }

    pub(crate) fn webhooks(&self, lab: &Lab) -> Webhooks {
        Webhooks::new(self.clone(), Admin::new(lab.pool()))
    }
}

impl Endpoints for Customers {
    async fn find(&self, id: &str) -> jobkit::Result<Option<Endpoint>> {
        let id: usize = id.parse()?;
        let all = self.lock();
        let found = all.get(id).filter(|customer| customer.off.is_none());
        Ok(found.map(Customer::endpoint))
    }

    async fn switch_off(&self, id: &str, why: &str) -> jobkit::Result {
        let id: usize = id.parse()?;
        self.change(id, |customer| customer.off = Some(why.to_owned()));
        Ok(())
    }
}
