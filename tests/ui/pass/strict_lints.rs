//! A crate that denies all it can: the expansion must not be what breaks it.
#![deny(warnings, missing_docs, unused, unreachable_pub, missing_debug_implementations)]
#![deny(clippy::all, clippy::pedantic)]
#![forbid(unsafe_code)]

use jobkit::{Job, JobContext};
use serde::{Deserialize, Serialize};

/// What the jobs of this program share.
#[derive(Debug)]
pub struct App;

/// Mails the receipt of an order.
#[derive(Debug, Serialize, Deserialize)]
#[jobkit::job(queue = "mail", concurrency_key = self.account_id, backoff = fixed("30s"))]
pub struct SendReceipt {
    /// Whose order it is.
    pub account_id: i64,
}

impl Job<App> for SendReceipt {
    async fn run(self, cx: JobContext<App>) -> jobkit::Result {
        let App = cx.state();
        Ok(())
    }
}

#[test]
fn is_accepted() {
    /// A job can be declared where it is needed.
    #[derive(Serialize, Deserialize)]
    #[jobkit::job]
    struct Local;

    impl Job for Local {
        async fn run(self, _cx: JobContext) -> jobkit::Result {
            Ok(())
        }
    }
}
