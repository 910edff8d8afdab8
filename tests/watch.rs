//! What the server runs for somebody: each statement with the plan it really had, as the server's
//! own `auto_explain` tells it to the session that ran it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tracing::field::{Field, Visit};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

const SETTINGS: [(&str, &str); 8] = [
    ("session_preload_libraries", "auto_explain"),
    ("auto_explain.log_analyze", "on"),
    ("auto_explain.log_buffers", "on"),
    ("auto_explain.log_format", "json"),
    ("auto_explain.log_level", "notice"),
    ("auto_explain.log_min_duration", "0"),
    ("auto_explain.log_timing", "off"),
    ("client_min_messages", "notice"),
];

/// Nodes of a plan that read rows of a table.
const READS: [&str; 5] =
    ["Seq Scan", "Index Scan", "Index Only Scan", "Bitmap Heap Scan", "Tid Scan"];

/// Passages of statements that set up a transaction of an operator, or look at a schema.
const SETTING_UP: [&str; 3] = [
    "set_config('search_path'",
    "current_setting('server_encoding') as encoding",
    "from jobkit._migrations m",
];

/// Hears what sessions of its pool run, as long as it is there and they run on this thread.
pub struct Watch {
    heard: Heard,
    pool: PgPool,
    _listening: DefaultGuard,
}

impl Watch {
    /// Begins to listen, at this database. With `nested`, statements of functions count, too.
    pub async fn new(url: &str, nested: bool) -> sqlx::Result<Self> {
        let heard = Heard::default();
        let subscriber = tracing_subscriber::registry().with(heard.clone());
        let listening = tracing::subscriber::set_default(subscriber);
        // Somebody else may have been the first to get a notice, without wanting to hear of it.
        tracing::callsite::rebuild_interest_cache();
        let nested = ("auto_explain.log_nested_statements", if nested { "on" } else { "off" });
        let options: PgConnectOptions = url.parse()?;
        let options = options.options(SETTINGS).options([nested]);
        let pool = PgPoolOptions::new().max_connections(1).connect_with(options).await?;
        Ok(Self { heard, pool, _listening: listening })
    }

    /// The pool whose sessions are heard, and all that are made like its own.
    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// What was run since this was asked last.
    pub fn take(&self) -> Seen {
        let plans = std::mem::take(&mut *self.heard.plans());
        let mut seen = Seen::default();
        for plan in plans {
            seen.add(&plan);
        }
        seen
    }
}

#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<Value>>>);

impl Heard {
    fn plans(&self) -> std::sync::MutexGuard<'_, Vec<Value>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Subscriber> Layer<S> for Heard {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target().starts_with("sqlx::postgres::notice") {
            event.record(&mut self.clone());
        }
    }
}

impl Visit for Heard {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, text: &str) {
        let plan = text.split_once("plan:").filter(|_| field.name() == "message");
        self.plans().extend(plan.and_then(|(_, plan)| serde_json::from_str(plan).ok()));
    }
}

/// What was run.
#[derive(Debug, Default)]
pub struct Seen {
    /// How many statements, but for those that set up a session or transaction, or look once for
    /// each connection whether the schema fits: how many connections there are is chance.
    pub statements: usize,
    /// How many rows they read of tables, those that they then passed over among them.
    pub rows: u64,
    /// Their texts, each with how many blocks it went to, of tables and of indexes.
    pub blocks: Vec<(String, u64)>,
    /// The tables that they read from one end to the other, each with the statement.
    pub scanned: Vec<(String, String)>,
}

impl Seen {
    /// How many blocks the statements went to that have this in their text; none when none has.
    pub fn blocks_of(&self, text: &str) -> Option<u64> {
        let found = self.blocks.iter().filter(|(statement, _)| statement.contains(text));
        found.map(|(_, blocks)| *blocks).reduce(|one, other| one + other)
    }

    fn add(&mut self, plan: &Value) {
        let text = plan["Query Text"].as_str().unwrap_or_default();
        if SETTING_UP.iter().any(|passage| text.contains(passage)) {
            return;
        }
        self.statements += 1;
        let blocks = |name: &str| plan["Plan"][name].as_u64().unwrap_or(0);
        let all = blocks("Shared Hit Blocks") + blocks("Shared Read Blocks");
        self.blocks.push((text.to_owned(), all));
        self.walk(&plan["Plan"], text);
    }

    fn walk(&mut self, node: &Value, statement: &str) {
        let kind = node["Node Type"].as_str().unwrap_or_default();
        if READS.contains(&kind) {
            let number = |name: &str| node[name].as_f64().unwrap_or(0.0);
            let of_each = number("Actual Rows")
                + number("Rows Removed by Filter")
                + number("Rows Removed by Index Recheck");
            self.rows += (of_each * number("Actual Loops")) as u64;
        }
        if kind == "Seq Scan" && node["Actual Loops"].as_f64() > Some(0.0) {
            let table = node["Relation Name"].as_str().unwrap_or_default();
            self.scanned.push((table.to_owned(), statement.to_owned()));
        }
        for inner in node["Plans"].as_array().into_iter().flatten() {
            self.walk(inner, statement);
        }
    }
}
