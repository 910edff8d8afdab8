use std::num::ParseIntError;

use jobkit::{Job, JobContext, JobType, Registration, job};

#[derive(serde::Serialize, serde::Deserialize)]
#[job(version = 4, upcast(1 = v1::read, 2 = Self::from_v2, 3 = |old: V3| Self { order: old.0 },))]
struct SendReceipt {
    order: i64,
}

mod v1 {
    pub(super) fn read(order: i64) -> super::SendReceipt {
        super::SendReceipt { order }
    }
}

#[derive(serde::Deserialize)]
struct V2 {
    order: String,
}

#[derive(serde::Deserialize)]
struct V3(i64);

impl SendReceipt {
    fn from_v2(old: V2) -> Result<Self, ParseIntError> {
        Ok(Self { order: old.order.parse()? })
    }
}

impl Job for SendReceipt {
    async fn run(self, _: JobContext) -> jobkit::Result {
        Ok(())
    }
}

#[test]
fn is_accepted() {
    assert_eq!((SendReceipt::POLICY.version, SendReceipt::POLICY.upcasts), (4, &[1, 2, 3][..]));
    let receipt = Registration::of::<SendReceipt, _>();
    for (version, payload) in [(1, "7"), (2, r#"{"order": "7"}"#), (3, "7"), (4, r#"{"order": 7}"#)]
    {
        assert_eq!(receipt.reads(version, payload), Ok(()), "{version}");
    }
    for (version, payload, error) in [
        (1, r#"{}"#, "the payload of version 1 does not decode at `.`: invalid type: map"),
        (
            2,
            r#"{"order": "x"}"#,
            "the payload of version 2 does not become version 4: invalid digit",
        ),
        (4, r#"{}"#, "the payload of version 4 does not decode at `.`: missing field `order`"),
        (5, r#"{}"#, "this binary does not know version 5 of `send_receipt`"),
    ] {
        let found = receipt.reads(version, payload).unwrap_err();
        assert!(found.starts_with(error), "{found}");
    }
}
