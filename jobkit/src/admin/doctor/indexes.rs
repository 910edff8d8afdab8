use super::diagnosis::{Check, Finding};
use crate::admin::Severity;

/// The indexes that the migrations create, except those of the days of history.
const INDEXES: &[&str] = &[
    "_migrations_pkey",
    "acknowledged_pkey",
    "attempts_pkey",
    "audit_pkey",
    "batch_counts_pkey",
    "batch_holds_dead_letter",
    "batch_holds_pkey",
    "batch_tallies_pkey",
    "batches_ended",
    "batches_open",
    "batches_pkey",
    "blocked_executions_pkey",
    "bounds_pkey",
    "causes_pkey",
    "claims_pkey",
    "dead_letters_batch",
    "dead_letters_callbacks",
    "dead_letters_due",
    "dead_letters_group",
    "dead_letters_job",
    "dead_letters_key",
    "dead_letters_pkey",
    "dead_letters_resolved",
    "dead_letters_state",
    "declarations_digest_key",
    "declarations_pkey",
    "due_keys_due",
    "due_keys_pkey",
    "finished_batch",
    "finished_cancelled",
    "finished_days_pkey",
    "finished_discarded",
    "finished_pkey",
    "jobs_batch",
    "jobs_callbacks",
    "jobs_cancel_requested",
    "jobs_coalescing",
    "jobs_pkey",
    "kept_slots_last",
    "kept_slots_pkey",
    "kinds_pkey",
    "limits_holding",
    "limits_of_keys",
    "limits_pkey",
    "lost_workers_pkey",
    "measures_pkey",
    "operation_results_pkey",
    "operations_idempotency_key_key",
    "operations_open",
    "operations_pkey",
    "permits_pkey",
    "ready_keyed",
    "ready_pkey",
    "reports_began",
    "reports_pkey",
    "reserved_slots_pkey",
    "schedule_runs_old",
    "schedule_runs_pkey",
    "scheduled_pkey",
    "scheduled_retrying",
    "schedules_due",
    "schedules_pkey",
    "semaphores_pkey",
    "sleepers_pkey",
    "steps_pkey",
    "stopped_workers_pkey",
    "stuck_jobs_pkey",
    "subscriptions_pkey",
    "sweeps_pkey",
    "turns_pkey",
    "unique_keys_followed",
    "unique_keys_kept",
    "unique_keys_pkey",
    "workers_pkey",
    "workers_serving",
];

/// Findings about the existing indexes: their names, and whether each can be used.
pub(super) fn findings(there: &[(String, bool)]) -> Vec<Finding> {
    let missing = INDEXES.iter().filter(|index| there.iter().all(|(name, _)| name != *index));
    let missing = missing.map(|index| {
        let found = format!("the index jobkit.{index} is missing");
        let advice = "create it as in the migration (`jobkit::migration_sql`), or lookups read \
                      whole tables";
        Finding::of(Severity::Critical, Check::Indexes, found, advice)
    });
    let unusable = there.iter().filter(|(_, usable)| !usable).map(|(name, _)| {
        let found = format!("the index jobkit.{name} exists but cannot be used");
        let advice = format!("`reindex index concurrently jobkit.{name}`");
        Finding::of(Severity::Critical, Check::Indexes, found, advice)
    });
    missing.chain(unusable).collect()
}
