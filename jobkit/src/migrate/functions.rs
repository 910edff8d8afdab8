//! The functions and views of the schema, one a file: a set that is replaced as a whole.

macro_rules! functions {
    ($($folder:ident { $($name:ident)* })*) => {
        &[$($((
            stringify!($name),
            include_str!(concat!(
                "../../migrations/functions/", stringify!($folder), "/", stringify!($name), ".sql"
            )),
        ),)*)*]
    };
}

/// The functions by their folder under `migrations/functions/`, in any order: bodies are not read
/// when they are created.
const FUNCTIONS: &[(&str, &str)] = functions! {
    attention { acknowledge blocked_lanes unacknowledge }
    audit { note note_ended note_jobs prune_audit }
    batches {
        add_to_batch cancel_batch close_batch count_batch end_batch held_batch hold_batch join_batch
        leave_batches look_at_batches open_batch prune_batches release_held wake_callbacks
    }
    causes { mute_cause note_cause }
    coalesce { coalesce_blocked coalesce_end coalesce_picked coalesce_seen coalesce_take }
    completion { complete completion part }
    dead_letters {
        bury dead_letters_between dead_letters_lately discard_dead_letter fingerprint fold
        matching_dead_letters newest_errors prune_resolved replay replay_due replay_open
        take_dead_letters without_clash
    }
    encryption { lies_open require_sealed reseal strays }
    history { expiry finished_drop finished_expired finished_forget finished_prepare }
    jobs {
        as_jsonb await_jobs cancel_mark cancel_take claim claim_above claim_ahead claim_apart
        claim_keyed claim_permits claim_shared claim_within contract end_jobs enqueue enqueue_all
        enqueue_form_1 errors_of finish for_worker insert_jobs lock_jobs log_attempt make_ready
        may_wait payload_size plan_once promote refuse require_payload require_read_committed
        require_shape require_tags require_terms require_time reschedule retry_until run_again
        seconds settle settle_apart settle_grant settle_one settle_others settle_partial
        stay_waiting store_all store_one tell_end terms unversioned versioned withdraw
        wrong_at_length wrong_with
    }
    limits {
        announce_limits claim_charge claim_few claim_limited fit_limits limit_key limiting
        pause_key pause_key_of pause_limit read_limit require_pausable resume_key resume_limit
        running_of said set_limit turn_room
    }
    lists { ended_in has_args hides jobs_in jobs_in_listing matching_jobs place_in timed_errors }
    measures { add_histograms measure measured prune_measures }
    operations {
        operate operate_dead_letters operate_jobs operate_past operation_begin operation_end
        operation_page operation_stop operation_took place_before
    }
    permits {
        acquire acquire_or_block begin_slots block block_backlog create_semaphores decide_lock
        grant_and_wake grant_due grant_permits grant_timed hand_over lock_semaphores pace paced
        pass_permit room signal skip_dead slots_end sweep sweep_begin sweep_cancelled sweep_note
        sweep_start sweep_unserved take_slot unblock
    }
    queues {
        look_at_bounds matching_queues ready_heads ready_queues require_room some_begin take_back
        waiting_in
    }
    reports { prune_reports prune_steps report reports_of save_step steps_of }
    roles { shown_args shows_payloads }
    sequences { sequences_behind set_sequences }
    schedules {
        create_schedule declaration declare_schedules delete_schedule edit_schedule
        enqueue_scheduled fire hasten_schedules miss_due pause_schedule prune_runs require_schedule
        resume_schedule run_schedule undecide
    }
    stuck { set_aside stick stuck unclaim }
    topics { announce_subscriptions fan_out publish unsubscribe }
    unique {
        enqueue_by_key enqueue_unique follow follow_left free_keys hold_waiting key_hands key_holder
        next_of_kind parked prune_keys put_back retake_key store_unique take_free_keys take_key
        take_last take_over take_waiting
    }
    workers {
        announce crash deregister give_back heartbeat orphaned_claims reap_claim reap_workers recall
        register release_lost serving sleep slots_for stop_worker wake wake_due
    }
};

/// Creates the functions that make records of the server's types, written from these types.
const RECORDS: &str = include_str!("../../migrations/records.sql");

/// The views, after what they read. An unchanged view is left alone: replacing it takes an
/// exclusive lock, and claims of keys read `key_limits`.
const VIEWS: &[(&str, &str)] = functions! {
    permits { key_limits }
    limits { turn_limits }
    roles {
        shown_audit shown_dead_letters shown_finished shown_jobs shown_schedules shown_steps
    }
    violations { places job_violations key_violations batch_violations violations }
    lists { claimed_jobs listed_jobs }
};

/// What runs before the set is installed. A function of an earlier set that is not in this one, or
/// has other parameters or another result, is dropped here, unless a supported binary still calls
/// it.
const BEFORE: &str = "\
-- Nothing that a body names has to be there yet.
set local check_function_bodies = off;
";

/// What needs the functions: the first days of the history.
const AFTER: &str = "\
set local check_function_bodies = on;
select jobkit.finished_prepare(15);
";

/// All of it as one script, for the transaction of a migration.
///
/// Calls in progress and a replacement do not block each other: a running function continues with
/// the body it began with, and the next call in any session uses the new one, since the server
/// notifies all sessions at the commit. Replacing a function locks no table; replacing a changed
/// view locks that view.
pub(super) fn script() -> String {
    let functions: String = FUNCTIONS.iter().map(|(_, text)| *text).collect();
    let views: String = VIEWS.iter().map(|(name, text)| view(name, text)).collect();
    [BEFORE, &functions, RECORDS, &views, AFTER].concat()
}

/// Installs a view, and records the checksum of its text in its comment, unless it is unchanged.
fn view(name: &str, text: &str) -> String {
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
