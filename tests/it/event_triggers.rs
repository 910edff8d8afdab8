//! Event triggers of the application, which fire while jobkit makes something.

use std::time::Duration;

use jobkit::error::{DatabaseError, MigrateError};
use jobkit::{Enqueue, Registration, Worker};
use jobkit_tests::{Lab, Log, Roles};
use tracing::Level;

use crate::jobs::Noop;

/// Writes down what is made, in a table of its own, as these triggers usually do; its function is
/// given by what is set for it.
fn trigger(function: &str) -> String {
    format!(
        "create table public.ddl_log (tag text);
        create function public.log_ddl() returns event_trigger language plpgsql {function} as
            $$ begin insert into ddl_log values (tg_tag); end $$;
        create event trigger log_ddl on ddl_command_end execute function public.log_ddl()"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_trigger_does_not_find_is_not_said_to_be_the_schema() {
    let lab = Lab::empty().await;
    lab.run(&trigger("")).await;
    let error = jobkit::migrate(lab.pool()).await.unwrap_err();
    assert!(matches!(error, MigrateError::Database(DatabaseError::Failed(_))), "{error:?}");
    assert!(error.to_string().contains("relation \"ddl_log\" does not exist"), "{error}");
    lab.run("alter function public.log_ddl() set search_path = public").await;
    jobkit::migrate(lab.pool()).await.unwrap();
    assert!(lab.count("public.ddl_log where tag = 'CREATE TABLE'").await > 10);
}

/// The functions that make the history's days run as the owner, and so does the trigger.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_may_make_no_days_starts_with_those_there_are() {
    let roles = Roles::new(Lab::new().await).await;
    roles.lab.run("select jobkit.finished_prepare(14)").await;
    roles.lab.run(&trigger("set search_path = public")).await;
    // As if it had been migrated days ago.
    let days_ago = "alter event trigger log_ddl disable;
        do $$ declare v_day date; begin
            for v_day in select day from jobkit.finished_days order by day desc limit 3 loop
                execute 'drop table jobkit.finished_' || to_char(v_day, 'YYYYMMDD');
                delete from jobkit.finished_days where day = v_day;
            end loop;
        end $$;
        alter event trigger log_ddl enable";
    roles.lab.run(days_ago).await;
    let (log, _guard) = Log::listen(Level::WARN);
    let worker = || {
        let worker = Worker::new(roles.pool("worker")).jobs([Registration::of::<Noop, _>()]);
        worker.poll(Duration::from_millis(100)).queue("default", 1)
    };
    let started = worker().start().await.unwrap();
    assert!(!log.lines("cannot create more days of history").is_empty());
    Noop.enqueue(roles.lab.pool()).await.unwrap();
    roles.lab.until("not exists (select from jobkit.jobs)").await;
    started.stop().await;
    // Without a day for what ends today nothing could end, and it does not start.
    roles.lab.run("alter event trigger log_ddl disable; delete from jobkit.finished_days").await;
    roles.lab.run("alter event trigger log_ddl enable").await;
    let refused = worker().start().await.unwrap_err();
    assert!(refused.to_string().contains("permission denied for table ddl_log"), "{refused}");
    roles.lab.run("drop event trigger log_ddl").await;
    worker().start().await.unwrap().stop().await;
    roles.end().await;
}
