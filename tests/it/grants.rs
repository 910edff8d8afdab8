//! The decision who gets a permit, against that of the model, on keys in random states.

use fastrand::Rng;
use jobkit_tests::Lab;
use jobkit_tests::model::{self, grant};
use sqlx::AssertSqlSafe;

in_a_lab![permits_go_to_the_first_that_are_served];

/// Cases of each seed.
const CASES: usize = 50;

/// Seeds tried every time; one more is new each time.
const SEEDS: [u64; 4] = [1, 2, 3, 2_026];

/// A blocked job.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    priority: i16,
    id: i64,
    queue: &'static str,
    kind: &'static str,
}

impl Waiting {
    fn in_the_model(&self) -> model::Waiting {
        let served = self.queue == "default" && self.kind == "act";
        model::Waiting { priority: self.priority, id: self.id, served }
    }
}

/// A key before the decision.
#[derive(Debug)]
struct Key {
    name: String,
    limit: Option<i32>,
    taken: Vec<i64>,
    freed: usize,
    waiting: Vec<Waiting>,
    /// The search begins at the first blocked job instead of at the start.
    marked: bool,
}

#[derive(Debug)]
struct Case {
    default_limit: i32,
    group_limit: Option<i32>,
    keys: Vec<Key>,
}

impl Case {
    fn random(rng: &mut Rng) -> Self {
        let mut ids: Vec<i64> = (1..100).collect();
        rng.shuffle(&mut ids);
        let keys = (0..rng.usize(1..=4)).map(|at| Key {
            name: format!("k{at}"),
            limit: rng.bool().then(|| rng.i32(0..=4)),
            taken: (0..rng.usize(..5)).filter_map(|_| ids.pop()).collect(),
            freed: rng.usize(..3),
            waiting: (0..rng.usize(..8)).filter_map(|_| waiting(rng, ids.pop()?)).collect(),
            marked: rng.bool(),
        });
        let keys = keys.collect();
        let group_limit = (rng.u8(..3) == 0).then(|| rng.i32(0..=5));
        Self { default_limit: rng.i32(1..=4), group_limit, keys }
    }

    fn limit(&self, key: &Key) -> i32 {
        key.limit.or(self.group_limit).unwrap_or(self.default_limit)
    }

    /// Who gets a permit of a key.
    fn granted(&self, key: &Key) -> Vec<i64> {
        let waiting: Vec<_> = key.waiting.iter().map(Waiting::in_the_model).collect();
        let taken = u32::try_from(key.taken.len()).unwrap();
        grant(u32::try_from(self.limit(key)).unwrap(), taken, &waiting)
    }

    fn waiting(&self) -> impl Iterator<Item = (&Key, &Waiting)> {
        self.keys.iter().flat_map(|key| key.waiting.iter().map(move |job| (key, job)))
    }

    /// The statements that make it so.
    fn sql(&self) -> String {
        let number = |limit: Option<i32>| limit.map_or("null".to_owned(), |n| n.to_string());
        let mut sql = String::from(
            "delete from jobkit.jobs; delete from jobkit.ready; delete from jobkit.permits;
            delete from jobkit.blocked_executions; delete from jobkit.semaphores;",
        );
        let (default, group) = (self.default_limit, number(self.group_limit));
        sql += &format!(
            "update jobkit.limits set code_running = {default}, running = {group}
            where scope = 'group';"
        );
        for key in &self.keys {
            let Key { name, taken, freed, .. } = key;
            let (count, own) = (taken.len() + freed, number(key.limit));
            let first = key.waiting.iter().map(|job| (job.priority, job.id)).min();
            let first = first.filter(|_| key.marked);
            let (priority, id) = first.unwrap_or((-3, 0));
            let crowded = !key.waiting.is_empty();
            let semaphore = format!("'g', '{name}', {count}, {own}, {priority}, {id}, {crowded}");
            sql += &format!("insert into jobkit.semaphores values ({semaphore});");
            for job in taken {
                sql += &format!("insert into jobkit.permits values ({job}, 'g', '{name}');");
            }
        }
        for (key, Waiting { priority, id, queue, kind }) in self.waiting() {
            let name = &key.name;
            sql += &format!(
                "insert into jobkit.jobs (id, kind, queue, priority, max_attempts, run_at,
                    created_at, concurrency_group, concurrency_key, args)
                values ({id}, '{kind}', '{queue}', {priority}, 3, now(), now(), 'g', '{name}',
                    '1');"
            );
            let blocked = format!("'g', '{name}', {priority}, {id}, '{queue}', '{kind}'");
            sql += &format!("insert into jobkit.blocked_executions values ({blocked});");
        }
        sql
    }

    fn fill(&self) -> String {
        let names: Vec<_> = self.keys.iter().map(|key| format!("'{}'", key.name)).collect();
        let freed: Vec<_> = self.keys.iter().map(|key| key.freed).collect();
        let groups = format!("array_fill('g'::text, array[{}])", names.len());
        format!(
            "select coalesce(array_agg(f.job_id order by f.job_id), '{{}}')
            from jobkit.grant_permits({groups}, array[{}], array{freed:?}) f (job_id)",
            names.join(", ")
        )
    }

    /// What each key has then: taken (none when it is forgotten), permits, blocked.
    fn expected(&self) -> Vec<After> {
        let after = |key: &Key| {
            let granted = self.granted(key);
            let sorted = |mut ids: Vec<i64>| {
                ids.sort_unstable();
                ids
            };
            let permits = [key.taken.clone(), granted.clone()].concat();
            let ids = key.waiting.iter().map(|job| job.id);
            let blocked: Vec<_> = ids.filter(|id| !granted.contains(id)).collect();
            let idle = permits.is_empty() && blocked.is_empty() && key.limit.is_none();
            let taken = (!idle).then(|| i32::try_from(permits.len()).unwrap());
            (taken, sorted(permits), sorted(blocked))
        };
        self.keys.iter().map(after).collect()
    }
}

type After = (Option<i32>, Vec<i64>, Vec<i64>);

fn waiting(rng: &mut Rng, id: i64) -> Option<Waiting> {
    let queue = ["default", "default", "default", "paused"][rng.usize(..4)];
    let kind = ["act", "act", "act", "gone", "halted"][rng.usize(..5)];
    Some(Waiting { priority: rng.i16(-3..=3), id, queue, kind })
}

/// The state of the keys of a case.
async fn look(lab: &Lab, case: &Case) -> Vec<After> {
    let names: Vec<_> = case.keys.iter().map(|key| format!("'{}'", key.name)).collect();
    let of = "concurrency_group = 'g' and concurrency_key = key";
    let sql = format!(
        "select (select taken from jobkit.semaphores where {of}),
            array(select job_id from jobkit.permits where {of} order by 1),
            array(select job_id from jobkit.blocked_executions where {of} order by 1)
        from unnest(array[{}]) with ordinality as k (key, at) order by at",
        names.join(", ")
    );
    sqlx::query_as(AssertSqlSafe(sql)).fetch_all(lab.pool()).await.unwrap()
}

pub(crate) async fn permits_go_to_the_first_that_are_served(lab: Lab) {
    lab.run(
        "insert into jobkit.workers (id, name, queues, kinds, lease, lease_until, stopping) values
        (1, 'w', '{default,paused}', '{act}', '1 s', now() + interval '1 day', false),
        (2, 'w', '{default,paused}', '{halted}', '1 s', now() + interval '1 day', true);
        insert into jobkit.limits (scope, name, paused_at) values ('queue', 'paused', now());
        insert into jobkit.limits (scope, name, code_running) values ('group', 'g', 1)",
    )
    .await;
    let fresh = fastrand::u64(..);
    for seed in SEEDS.into_iter().chain([fresh]) {
        println!("seed {seed}");
        let mut rng = Rng::with_seed(seed);
        for at in 0..CASES {
            let case = Case::random(&mut rng);
            lab.run(&case.sql()).await;
            let granted: Vec<i64> = lab.value(&case.fill()).await;
            let mut expected: Vec<i64> =
                case.keys.iter().flat_map(|key| case.granted(key)).collect();
            expected.sort_unstable();
            assert_eq!(granted, expected, "seed {seed}, case {at}: {case:?}");
            assert_eq!(
                look(&lab, &case).await,
                case.expected(),
                "seed {seed}, case {at}: {case:?}"
            );
            let wrong = lab.count("jobkit.key_violations").await;
            assert_eq!(wrong, 0, "seed {seed}, case {at}: {case:?}");
        }
    }
}
