//! What is measured, of whom, and which figures the tables show.

use super::contestant::{CEILING, Contestant, JOBKIT};

/// One table of the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Workload {
    Drain,
    Bulk,
    Fleet,
    Queues,
    /// A drain with so many slots.
    Narrow(usize),
    /// Jobs of a millisecond, with so many slots.
    Slots(usize),
    Offered,
    /// Payloads of 50 KB, here and in the next two.
    Large,
    LargeBulk,
    LargeOne,
    EnqueueOne,
    EnqueueMany,
    ServedOne,
    ServedMany,
    Held,
    Latency,
    Poll,
    Steady,
    Idle,
    Pinned,
    Backlog,
    Hot,
    Keyed,
    Zipf,
    Log,
    Memory,
}

use Workload::*;

/// In the order of the tables.
pub(crate) const ALL: [Workload; 30] = [
    Drain,
    Bulk,
    Fleet,
    Queues,
    Narrow(50),
    Narrow(200),
    Narrow(500),
    Slots(1),
    Slots(5),
    Slots(20),
    Offered,
    Large,
    LargeBulk,
    LargeOne,
    EnqueueOne,
    EnqueueMany,
    ServedOne,
    ServedMany,
    Held,
    Latency,
    Poll,
    Steady,
    Idle,
    Pinned,
    Backlog,
    Hot,
    Keyed,
    Zipf,
    Log,
    Memory,
];

/// A figure, its heading, and its digits after the point.
pub(crate) type Column = (&'static str, &'static str, usize);

/// How it is called and shown; the first column is what counts.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) columns: &'static [Column],
    /// Whether more is better, in the first column.
    pub(crate) more: bool,
}

const COSTS: [Column; 4] = [
    ("server_us", "server CPU µs/job", 0),
    ("client_us", "client CPU µs/job", 0),
    ("wal_bytes", "WAL B/job", 0),
    ("writes", "writing transactions/job", 3),
];
const RATE: Column = ("jobs_per_s", "jobs/s", 0);
const DRAIN: &[Column] = &[RATE, COSTS[0], COSTS[1], COSTS[2], COSTS[3], ("mb", "resident MB", 0)];
const MANY: &[Column] =
    &[RATE, COSTS[0], COSTS[1], ("one_per_s", "jobs/s of one", 0), ("to_one", "of that", 2)];
const NARROW: &[Column] = &[
    RATE,
    COSTS[0],
    COSTS[1],
    ("one_per_s", "jobs/s of 2,000 slots", 0),
    ("to_one", "of that", 2),
];
const SLOTS: &[Column] = &[
    RATE,
    ("of_best", "of slots ÷ run time", 2),
    COSTS[0],
    COSTS[1],
    ("real_ms", "run time ms", 2),
    ("run_ms", "in this run", 2),
    ("busy", "slots busy", 2),
];
const OFFERED: &[Column] = &[
    ("p50", "wait p50 ms", 1),
    ("p99", "p99 ms", 1),
    ("grew", "p50 grew by ms", 1),
    RATE,
    ("of_asked", "of what was to be offered", 2),
    ("offered_per_s", "offered/s", 0),
    ("left", "not done at the end", 0),
    COSTS[0],
    ("run_ms", "run time ms", 1),
    ("busy", "slots busy", 2),
];
const ENQUEUE: &[Column] = &[RATE, COSTS[0], COSTS[1], COSTS[2]];
const LARGE: &[Column] = &[COSTS[0], COSTS[1], COSTS[2], RATE];
const LATENCY: &[Column] = &[
    ("p50", "p50 ms", 2),
    ("p95", "p95 ms", 2),
    ("p99", "p99 ms", 2),
    ("client_cpu", "client CPU %", 1),
    ("server_cpu", "server CPU %", 1),
    ("missing", "not begun", 0),
];
const POLL: &[Column] = &[
    ("p50", "p50 ms", 2),
    ("p99", "p99 ms", 2),
    ("rare_p50", "p50 ms of one a second", 2),
    ("client_cpu", "client CPU %", 1),
    ("server_cpu", "server CPU %", 1),
    ("missing", "not begun", 0),
];
const STEADY: &[Column] = &[
    ("p99_last", "p99 ms, last sixth", 1),
    ("p99_first", "p99 ms, first sixth", 1),
    ("p50_last", "p50 ms, last sixth", 1),
    ("p50_first", "p50 ms, first sixth", 1),
    ("client_cpu", "client CPU %", 0),
    ("server_cpu", "server CPU %", 0),
    ("missing", "not begun", 0),
];
const KEYED: &[Column] = &[
    ("thousand", "1,000 keys × 1", 2),
    ("fifty", "one key × 50", 2),
    ("single", "one key × 1", 3),
    ("jobs_per_s", "jobs/s without", 0),
];
const ZIPF: &[Column] = &[
    ("of_best", "handler's part of a turn", 2),
    ("turn_ms", "hottest key's turn ms", 2),
    ("run_ms", "handler ms", 2),
    ("seconds", "in all s", 1),
    COSTS[0],
    COSTS[1],
];
const IDLE: &[Column] = &[
    ("tx_per_s", "transactions/s", 1),
    ("client_cpu", "client CPU %", 2),
    ("server_cpu", "server CPU %", 2),
    ("mb", "resident MB", 0),
];

const fn more(name: &'static str, title: &'static str, columns: &'static [Column]) -> Table {
    Table { name, title, columns, more: true }
}

const fn less(name: &'static str, title: &'static str, columns: &'static [Column]) -> Table {
    Table { name, title, columns, more: false }
}

impl Workload {
    /// How it is called and shown.
    pub(crate) fn table(self) -> Table {
        match self {
            Large | LargeBulk | LargeOne => self.large_table(),
            Drain => more("drain", "Drain of no-op jobs by one process", DRAIN),
            Bulk => more("bulk", "Bulk enqueue in statements of 1,000", ENQUEUE),
            Fleet => more("fleet", "Drain by four processes on one queue", MANY),
            Queues => more("queues", "Drain of 16 queues by one process", MANY),
            EnqueueOne => more("enqueue1", "Enqueue singly, 1 producer, an idle worker", ENQUEUE),
            EnqueueMany => {
                more("enqueue16", "Enqueue singly, 16 producers, an idle worker", ENQUEUE)
            }
            ServedOne => more("served1", "Enqueue singly, 1 producer, a busy worker", ENQUEUE),
            ServedMany => more("served16", "Enqueue singly, 16 producers, a busy worker", ENQUEUE),
            Latency => less("latency", "Latency of a job every 20 ms, commit to start", LATENCY),
            Poll => less("poll", "The same with polling only, every 100 ms", POLL),
            Steady => less("steady", "1,000 jobs/s under a pinned snapshot", STEADY),
            Idle => less("idle", "A worker with nothing to do", IDLE),
            Narrow(_) | Slots(_) | Offered => self.slots_table(),
            _ => self.own_table(),
        }
    }

    /// Of those with payloads of 50 KB.
    fn large_table(self) -> Table {
        match self {
            Large => more("large", "Drain of jobs with payloads of 50 KB", DRAIN),
            LargeBulk => more("large_bulk", "Enqueue of 50 KB each in statements of 100", ENQUEUE),
            _ => less("large1", "Enqueue of 50 KB singly, 1 producer, an idle worker", LARGE),
        }
    }

    /// Of those in which everybody has equal slots.
    fn slots_table(self) -> Table {
        match self {
            Narrow(50) => more("drain50", "Drain of no-op jobs with 50 slots", NARROW),
            Narrow(200) => more("drain200", "Drain of no-op jobs with 200 slots", NARROW),
            Narrow(_) => more("drain500", "Drain of no-op jobs with 500 slots", NARROW),
            Slots(1) => more("slots1", "Drain of jobs of 1 ms with 1 slot", SLOTS),
            Slots(5) => more("slots5", "Drain of jobs of 1 ms with 5 slots", SLOTS),
            Slots(_) => more("slots20", "Drain of jobs of 1 ms with 20 slots", SLOTS),
            _ => less(
                "offered",
                "Wait of jobs of 5–50 ms for 200 slots, offered at 0.90 of slots ÷ run time",
                OFFERED,
            ),
        }
    }

    fn own_table(self) -> Table {
        match self {
            Held => more(
                "held",
                "Enqueue in a transaction held 10 ms, 32 producers",
                &[
                    ("ratio", "of plain inserts", 2),
                    ("served", "while a worker runs them", 2),
                    RATE,
                    ("plain_per_s", "rows/s", 0),
                ],
            ),
            Pinned => more(
                "pinned",
                "Drain under a pinned snapshot",
                &[("last_to_first", "last quarter of first", 2), RATE, COSTS[0], COSTS[1]],
            ),
            Backlog => less(
                "backlog",
                "Cost of a job before a long backlog",
                &[
                    ("cost", "server CPU, of a short one", 2),
                    ("slower", "time, of a short one", 2),
                    ("many_per_s", "jobs/s, long", 0),
                    ("few_per_s", "jobs/s, short", 0),
                ],
            ),
            Hot => more(
                "hot",
                "One hot key with one permit under a pinned snapshot",
                &[("last_to_first", "last ten seconds of first", 2), RATE],
            ),
            Keyed => more("keyed", "Jobs with concurrency keys, of those without", KEYED),
            Zipf => more("zipf", "10,000 keys × 2, one of which has a tenth of the jobs", ZIPF),
            Log => less(
                "log",
                "Write-ahead log, no page as a whole",
                &[
                    ("work_bytes", "B/job, claim and finish", 0),
                    ("enqueue_bytes", "B/job, bulk enqueue", 0),
                    ("writes", "writing transactions/job", 3),
                ],
            ),
            _ => less(
                "memory",
                "Memory during a long drain",
                &[("mb", "most resident MB", 0), ("mb_first", "until a quarter", 0), RATE],
            ),
        }
    }

    /// Whether everybody takes part even in a quick run.
    pub(crate) fn is_essential(self) -> bool {
        matches!(self, Drain | EnqueueMany | Latency | Slots(20) | Offered)
    }

    /// Whether this contestant takes part.
    pub(crate) fn has(self, contestant: &Contestant) -> bool {
        match self {
            Drain => true,
            // It is measured with each drain, and the history changes nothing.
            Bulk | Fleet | EnqueueOne | EnqueueMany => {
                let raw = self != Fleet && contestant.name == CEILING;
                raw || contestant.name == JOBKIT || contestant.is_peer()
            }
            ServedOne | ServedMany | Latency | Steady | Idle => {
                contestant.name == JOBKIT || contestant.is_peer()
            }
            Large => contestant.is_ours() || contestant.name == CEILING,
            LargeBulk | LargeOne => [JOBKIT, CEILING].contains(&contestant.name),
            // The programs for Node have no equal slots, and a job of underway has a connection.
            Narrow(_) | Slots(_) | Offered => {
                let connections = matches!(self, Slots(_)) && contestant.name == "underway";
                let slots = ["graphile_worker", "awa", "riverqueue", "apalis-postgres"];
                connections || contestant.name == JOBKIT || slots.contains(&contestant.name)
            }
            // The others have no queues, or other ones.
            Queues => [JOBKIT, "awa", "riverqueue"].contains(&contestant.name),
            _ => contestant.name == JOBKIT,
        }
    }
}
