// The benchmark's protocol for Node, as ../harness has it for Rust. A contestant's module passes
// {setup, open(connections), one(seq, us), many(from, jobs, us), start()}.
import { createInterface } from "node:readline";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (line) => process.stdout.write(line + "\n");
const mark = async (line) => { say(line); await lines.next(); };
const end = (figures) => mark("END " + JSON.stringify(figures));
const now = () => performance.now();
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const connections = Number(process.env.POOL ?? 20);

export const queue = process.env.QUEUE ?? "default";
export const knob = (name, otherwise) => Number(process.env[name] ?? otherwise);
export const payload = (seq, us) => ({ seq, us, email: `user${seq}@example.com`, template: "welcome" });

let begun = 0;
const called = [], committed = [], begins = [];

export function onJob(job) {
  begun++;
  if (job.seq >= 0) begins[job.seq] ??= now();
}

function summary(since, from, to) {
  const times = [];
  let missing = 0;
  for (let seq = from; seq < to; seq++) {
    if (begins[seq] === undefined) missing++;
    else times.push(Math.max(0, begins[seq] - since[seq]));
  }
  times.sort((a, b) => a - b);
  const quantile = (share) => times[Math.floor((times.length - 1) * share)] ?? null;
  return { n: times.length, missing, p50: quantile(0.5), p95: quantile(0.95), p99: quantile(0.99), max: quantile(1) };
}

async function allBegun(jobs) {
  for (let i = 0; i < 1600 && begun < jobs; i++) await sleep(5);
}

const tasks = {
  async setup(contestant) {
    await contestant.setup();
  },

  async enqueue(contestant, producers, secs) {
    await contestant.open(producers);
    await contestant.one(-1, 0);
    await mark("START");
    const began = now();
    let jobs = 0;
    await Promise.all(Array.from({ length: producers }, async () => {
      while (now() - began < secs * 1000) { await contestant.one(-1, 0); jobs++; }
    }));
    await end({ n: jobs, secs: (now() - began) / 1000 });
  },

  async bulk(contestant, jobs, batch) {
    await contestant.open(2);
    await mark("START");
    const began = now();
    for (let from = 0; from < jobs; from += batch) await contestant.many(from, Math.min(batch, jobs - from), 0);
    await end({ n: jobs, secs: (now() - began) / 1000 });
  },

  async work(contestant) {
    await contestant.open(connections);
    await mark("START");
    let stopped = false, said = 0;
    const stop = lines.next().then(() => { stopped = true; });
    await contestant.start();
    while (!stopped) {
      await Promise.race([sleep(5), stop]);
      if (begun !== said) { said = begun; say("DONE " + said); }
    }
    await end({ n: begun, begun });
  },

  async latency(contestant, jobs, gap) {
    await contestant.open(connections);
    await contestant.start();
    await sleep(2500);
    await mark("START");
    const began = now();
    for (let seq = 0; seq < jobs; seq++) {
      const wait = began + seq * gap - now();
      if (wait > 0) await sleep(wait);
      await contestant.one(seq, 0);
      committed[seq] = now();
    }
    await allBegun(jobs);
    await end({ n: jobs, secs: (now() - began) / 1000, latency: summary(committed, 0, jobs) });
  },

  async steady(contestant, rate, secs) {
    await contestant.open(connections);
    await contestant.start();
    await sleep(1000);
    await mark("START");
    const began = now(), edges = [0];
    let sent = 0;
    const elapsed = () => (now() - began) / 1000;
    while (elapsed() < secs) {
      await sleep(10);
      const due = Math.min(1000, Math.floor(elapsed() * rate) - sent);
      if (due > 0) {
        called.push(...Array(due).fill(now()));
        await contestant.many(sent, due, 0);
        sent += due;
      }
      if (elapsed() >= secs / 6 * edges.length) edges.push(sent);
    }
    const n = begun;
    await allBegun(sent);
    edges.length = Math.min(edges.length, 6);
    edges.push(sent);
    const sixths = edges.slice(1).map((edge, i) => summary(called, edges[i], edge));
    await end({ n, sent, secs, latency: summary(called, 0, sent), sixths });
  },
};

export async function run(contestant) {
  const [task, ...numbers] = process.argv.slice(2);
  await tasks[task](contestant, ...numbers.map(Number));
  process.exit(0);
}
