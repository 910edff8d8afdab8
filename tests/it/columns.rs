//! The columns that the library sends, against those that the server has.

use jobkit::enqueue::Statement;
use jobkit::{Job, JobContext, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[job(unique_key = self.0)]
struct Once(u32);

impl Job for Once {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

/// Name and type of the parameters, as the statement for other drivers casts them.
fn sent(sql: &str) -> Vec<(String, String)> {
    let record = sql.split_once("jobkit.new_job").unwrap().1;
    let record = record.split_once('(').unwrap().1.split_once(')').unwrap().0;
    let columns = record.split(", ").map(|column| {
        let (name, value) = column.split_once(" => ").unwrap();
        let sql_type = value.rsplit_once("::pg_catalog.").unwrap().1;
        (name.strip_prefix("p_").unwrap().to_owned(), sql_type.to_owned())
    });
    let mut columns: Vec<_> = columns.collect();
    columns.sort();
    columns
}

/// In the order of the type.
async fn attributes(lab: &Lab, name: &str) -> Vec<(String, String)> {
    let attributes = format!(
        "select a.attname::text, t.typname || case when e.oid is null then '' else '[]' end
        from pg_attribute a join pg_type r on r.typrelid = a.attrelid
        left join pg_type e on e.typarray = a.atttypid
        join pg_type t on t.oid = coalesce(e.oid, a.atttypid)
        where r.oid = 'jobkit.{name}'::regtype and not a.attisdropped order by a.attnum"
    );
    sqlx::query_as(sqlx::AssertSqlSafe(attributes)).fetch_all(lab.pool()).await.unwrap()
}

#[tokio::test]
async fn what_is_sent_is_what_the_types_have() {
    let lab = Lab::new().await;
    let one = Statement::enqueue(Once(1)).unwrap();
    let sorted = |mut columns: Vec<_>| {
        columns.sort();
        columns
    };
    assert_eq!(sent(one.sql()), sorted(attributes(&lab, "new_job").await));
    let many = Statement::enqueue_all([Once(1), Once(2)]).unwrap();
    let mut attributes = sorted(attributes(&lab, "new_jobs").await);
    // What only batches set, in the server.
    attributes.retain(|(name, _)| name != "batch_id" && name != "callback_of");
    assert_eq!(sent(many.sql()), attributes);
}

/// The functions that make a record put each parameter into the attribute of its name.
#[tokio::test]
async fn each_parameter_becomes_the_attribute_of_its_name() {
    let lab = Lab::new().await;
    for name in ["new_job", "new_jobs"] {
        let attributes = attributes(&lab, name).await;
        for (column, sql_type) in &attributes {
            let (base, value) = match sql_type.trim_end_matches("[]") {
                "text" => ("text", "x"),
                "int2" => ("int2", "7"),
                "int8" => ("int8", "7"),
                "interval" => ("interval", "1 day"),
                "timestamptz" => ("timestamptz", "infinity"),
                "jsonb" => ("jsonb", "1"),
                other => panic!("{other}"),
            };
            let value =
                if sql_type.ends_with("[]") { format!("{{{value}}}") } else { value.into() };
            let args = attributes[..5].iter().filter(|(needed, _)| needed != column);
            let args = args.map(|(needed, _)| format!("p_{needed} => null, ")).collect::<String>();
            let array = &sql_type[base.len()..];
            let found = format!(
                "select count(*) = 1 from jsonb_each_text(to_jsonb(jobkit.{name}({args}
                    p_{column} => '{value}'::{base}{array}))) as e (key, value)
                where e.value not in ('[]', '{{}}')
                    and e.key = '{column}'"
            );
            assert!(lab.value::<bool>(&found).await, "{name}.{column}");
        }
    }
}

/// A step that makes the types longer says the column once: the functions follow, and statements
/// that sessions have prepared go on.
#[tokio::test(flavor = "multi_thread")]
async fn a_type_that_grows_takes_its_functions_along() {
    let lab = Lab::new().await;
    let mut session = lab.session("earlier").await;
    let (one, many) = ([Once(1)], [Once(2), Once(3)]);
    jobkit::enqueue_all(one, &mut session.connection).await.unwrap();
    jobkit::enqueue_all(many, &mut session.connection).await.unwrap();

    let longer = "alter type jobkit.new_job add attribute note text;
        alter type jobkit.new_jobs add attribute note text[];";
    jobkit::testing::migrate_further(lab.pool(), longer, "", 1).await.unwrap();
    for (one, many) in [(4, [5, 6]), (7, [8, 9])] {
        jobkit::enqueue_all([Once(one)], &mut session.connection).await.unwrap();
        jobkit::enqueue_all(many.map(Once), &mut session.connection).await.unwrap();
    }
    assert_eq!(lab.count("jobkit.jobs").await, 9);
    let makers = "pg_proc where pronamespace = 'jobkit'::regnamespace
        and proname in ('new_job', 'new_jobs')";
    assert_eq!(lab.count(makers).await, 2);
    let kept = "select (jobkit.new_jobs_at(jobkit.new_jobs_of(
        jobkit.new_job(p_kind => 'k', p_note => 'x')), 1)).note = '{x}'";
    assert!(lab.value::<bool>(kept).await);
}
