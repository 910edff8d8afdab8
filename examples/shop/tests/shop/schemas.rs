use std::path::Path;

use jobkit::Registration;
use shop::jobs::*;

/// A release that reads less than what is stored fails here, not in production. After a change that
/// stored jobs bear: `JOBKIT_SCHEMAS=write cargo test -p jobkit-shop schemas`.
#[test]
fn stored_jobs_can_be_read() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    let problems: Vec<String> = [
        Registration::check_schema::<ChargeCard>(&kept),
        Registration::check_schema::<CleanUp>(&kept),
        Registration::check_schema::<DeliverWebhook>(&kept),
        Registration::check_schema::<ImportStock>(&kept),
        Registration::check_schema::<IndexProduct>(&kept),
        Registration::check_schema::<NightlyReport>(&kept),
        Registration::check_schema::<RefundOrder>(&kept),
        Registration::check_schema::<SendReceipt>(&kept),
    ]
    .into_iter()
    .filter_map(Result::err)
    .collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
