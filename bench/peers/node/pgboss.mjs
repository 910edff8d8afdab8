// pg-boss 10 for Node, the last that runs on Node 20. It keeps finished jobs, until its maintenance archives them.
// Its best: four loops that fetch 1,000 each, at its shortest polling interval; it has no
// notifications. Knobs: PB_BATCH, PB_WORKERS (loops), PB_POLL_S.
import { run, onJob, payload, queue, knob } from "./harness.mjs";
import PgBoss from "pg-boss";

const connectionString = process.env.DATABASE_URL;
let boss;

async function up(max) {
  boss = new PgBoss({ connectionString, max });
  boss.on("error", (error) => console.error(error.message));
  await boss.start();
}

await run({
  async setup() {
    await up(4);
    await boss.createQueue("default");
    await boss.createQueue("idle");
  },
  open: up,
  one: (seq, us) => boss.send(queue, payload(seq, us)),
  many: (from, jobs, us) =>
    boss.insert(Array.from({ length: jobs }, (_, i) => ({ name: queue, data: payload(from + i, us) }))),
  async start() {
    const options = { batchSize: knob("PB_BATCH", 1000), pollingIntervalSeconds: knob("PB_POLL_S", 0.5) };
    for (let i = 0; i < knob("PB_WORKERS", 4); i++) await boss.work(queue, options, async (jobs) => jobs.forEach((job) => onJob(job.data)));
  },
});
