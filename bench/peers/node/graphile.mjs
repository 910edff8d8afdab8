// graphile-worker 0.17 for Node, the last that runs on Node 20. It deletes finished jobs and leaves nothing behind.
// Its best: a local queue of 500, completions batched. A queue is a way to serialize jobs there, so
// QUEUE chooses between two tasks. Knobs: GWN_CONC, GWN_LOCALQ (0 = none), GWN_BATCH_MS (-1 = none).
import { run, onJob, payload, queue, knob } from "./harness.mjs";
import { makeWorkerUtils, run as runWorker, runMigrations, Logger } from "graphile-worker";
import pg from "pg";

const connectionString = process.env.DATABASE_URL, logger = new Logger(() => () => {});
const identifier = queue === "default" ? "bench_job" : "other_job";
let client;

await run({
  setup: () => runMigrations({ connectionString, logger }),
  async open(max) {
    const pgPool = new pg.Pool({ connectionString, max });
    client = await makeWorkerUtils({ pgPool, logger });
  },
  one: (seq, us) => client.addJob(identifier, payload(seq, us)),
  many: (from, jobs, us) =>
    client.addJobs(Array.from({ length: jobs }, (_, i) => ({ identifier, payload: payload(from + i, us) }))),
  async start() {
    const concurrentJobs = knob("GWN_CONC", 100), size = knob("GWN_LOCALQ", 500), delay = knob("GWN_BATCH_MS", 0);
    const local = size > 0 ? { localQueue: { size: Math.max(size, concurrentJobs) } } : {};
    const batch = delay >= 0 ? { completeJobBatchDelay: delay, failJobBatchDelay: delay } : {};
    await runWorker({
      connectionString, logger, noHandleSignals: true,
      taskList: { [identifier]: async (job) => onJob(job) },
      preset: { worker: { concurrentJobs, maxPoolSize: 20, pollInterval: 1000, ...local, ...batch } },
    });
  },
});
