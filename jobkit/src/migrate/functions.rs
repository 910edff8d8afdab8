//! The functions and views of the schema, one a file: a set that is replaced as a whole.

macro_rules! functions {
    ($($path:literal,)*) => {
        &[$(($path, include_str!(concat!("../../migrations/functions/", $path, ".sql"))),)*]
    };
}

/// Each function with its place under `migrations/functions/`, in any order: bodies are not read
/// when they are created.
const FUNCTIONS: &[(&str, &str)] = functions! {
    "audit/note",
    "audit/note_jobs",
    "audit/prune_audit",
    "dead_letters/bury",
    "dead_letters/cause",
    "dead_letters/dead_letter_discard",
    "dead_letters/dead_letter_purge",
    "dead_letters/dead_letter_replay",
    "dead_letters/dead_letter_replay_all",
    "dead_letters/dead_letters_after",
    "dead_letters/dead_letters_before",
    "dead_letters/dead_letters_lately",
    "dead_letters/dead_letters_page",
    "dead_letters/discard_dead_letter",
    "dead_letters/discard_page",
    "dead_letters/fingerprint",
    "dead_letters/fold",
    "dead_letters/newest_errors",
    "dead_letters/prune_resolved",
    "dead_letters/regroup_dead_letters",
    "dead_letters/reopen",
    "dead_letters/replay",
    "dead_letters/replay_due",
    "dead_letters/replay_open",
    "dead_letters/replay_page",
    "dead_letters/resolve",
    "history/expiry",
    "history/finished_drop",
    "history/finished_expired",
    "history/finished_forget",
    "history/finished_prepare",
    "jobs/cancel_mark",
    "jobs/cancel_take",
    "jobs/claim",
    "jobs/claim_above",
    "jobs/claim_keyed",
    "jobs/claim_permits",
    "jobs/claim_within",
    "jobs/enqueue",
    "jobs/enqueue_jobs",
    "jobs/errors_of",
    "jobs/finish",
    "jobs/finish_all",
    "jobs/lock_jobs",
    "jobs/log_attempt",
    "jobs/make_ready",
    "jobs/make_scheduled",
    "jobs/promote",
    "jobs/require_options",
    "jobs/require_read_committed",
    "jobs/require_tags",
    "jobs/require_time",
    "jobs/reschedule",
    "jobs/run_again",
    "jobs/settle",
    "jobs/settle_apart",
    "jobs/settle_grant",
    "jobs/settle_one",
    "jobs/settle_others",
    "jobs/settle_partial",
    "jobs/withdraw",
    "lists/ended_in",
    "lists/has_args",
    "lists/hides",
    "lists/jobs_in",
    "lists/place_in",
    "lists/timed_errors",
    "measures/add_histograms",
    "measures/measure",
    "measures/prune_measures",
    "operations/jobs_to_do",
    "operations/matching_ids",
    "operations/matching_jobs",
    "operations/operate",
    "operations/operate_count",
    "operations/operate_dead_letters",
    "operations/operate_jobs",
    "operations/operate_past",
    "operations/operate_selected",
    "operations/operation_begin",
    "operations/operation_end",
    "operations/operation_stop",
    "operations/operation_took",
    "operations/place_before",
    "permits/acquire",
    "permits/acquire_or_block",
    "permits/announce_limits",
    "permits/block",
    "permits/block_backlog",
    "permits/create_semaphores",
    "permits/decide_lock",
    "permits/grant_and_wake",
    "permits/grant_permits",
    "permits/hand_over",
    "permits/limit_group",
    "permits/limit_key",
    "permits/lock_semaphores",
    "permits/pass_permit",
    "permits/signal",
    "permits/skip_dead",
    "permits/sweep",
    "permits/sweep_begin",
    "permits/sweep_cancelled",
    "permits/sweep_note",
    "permits/sweep_start",
    "permits/sweep_unserved",
    "permits/unblock",
    "queues/pause",
    "queues/ready_heads",
    "queues/ready_queues",
    "queues/resume",
    "queues/take_back",
    "stuck/set_aside",
    "stuck/stick",
    "stuck/stuck",
    "stuck/unclaim",
    "stuck/unstick",
    "workers/announce",
    "workers/cap_leases",
    "workers/crash",
    "workers/deregister",
    "workers/heartbeat",
    "workers/orphaned_claims",
    "workers/reap_claim",
    "workers/reap_workers",
    "workers/register",
    "workers/release_lost",
    "workers/serving",
    "workers/sleep",
    "workers/stop_worker",
    "workers/wake",
    "retired/exhausted",
    "retired/has_lapsed",
    "retired/recover",
    "retired/recover_look",
};

/// The views, after what they read. One that is as it was is left alone: to replace it takes an
/// exclusive lock, and claims of keys read `limits`.
const VIEWS: &[(&str, &str)] = functions! {
    "permits/limits",
    "violations/places",
    "violations/job_violations",
    "violations/key_violations",
    "violations/violations",
    "lists/listed_jobs",
};

/// Functions that are no longer in the set, or not with this signature or result: dropped before
/// the others are put in place. What a supported binary still calls stays in the set instead,
/// under `retired`.
const DROPPED: &str = include_str!("../../migrations/functions/dropped.sql");

/// What is in place before the set is.
const BEFORE: &str = "\
-- Nothing that a body names has to be there yet.
set local check_function_bodies = off;
";

/// What only functions can make: the first days of the history.
const AFTER: &str = "\
set local check_function_bodies = on;
select jobkit.finished_prepare(15);
";

/// All of it as one script, for the transaction of a migration.
///
/// Calls under way are not in the way of a replacement, nor it in theirs: a function that runs goes
/// on with the body it began with, and the next call, in any session, looks up the new one, since
/// the server tells all sessions at the commit. No table is locked for a function; for a view that
/// has changed, that view is.
pub(super) fn script() -> String {
    let functions = FUNCTIONS.iter().map(|(_, text)| (*text).to_owned());
    let views = VIEWS.iter().map(|(path, text)| view(path, text));
    let begin = [BEFORE, DROPPED].map(str::to_owned).into_iter();
    begin.chain(functions).chain(views).chain([AFTER.to_owned()]).collect()
}

/// Puts a view in place, and notes in its comment which text it has, unless it has that already.
fn view(path: &str, text: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let checksum = super::checksum(text);
    format!(
        "do $view$ begin
    if obj_description(to_regclass('jobkit.{name}'), 'pg_class') is distinct from
        '{checksum}' then
{text}
        comment on view jobkit.{name} is '{checksum}';
    end if;
end $view$;
"
    )
}
