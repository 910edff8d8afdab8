// The pages there are, found by what is in the database.

import { ask } from "./browser.js";

const FIXED = [
  "/", "/jobs", "/jobs?state=ready", "/jobs?state=blocked", "/jobs?state=scheduled",
  "/jobs?state=retrying",
  "/jobs?state=finished", "/jobs?q=nonsense:1", "/jobs?q=kind:nobody", "/batches",
  "/batches?state=open", "/queues",
  "/queues/queue?queue=mail", "/schedules", "/schedules/schedule?name=report-000",
  "/schedules/new", "/schedules/change?name=report-000", "/kinds", "/kinds/kind?kind=send_receipt", "/topics", "/workers",
  "/concurrency", "/concurrency/key?group=sync_account&key=acme",
  "/concurrency/key?group=sync_account&key=nobody", "/limits", "/limits?only=paused", "/dead", "/dead/entries",
  "/dead/entries?state=resolved&queue=mail", "/operations", "/operations/new?verb=replay",
  "/operations/new?verb=discard&state=blocked", "/audit", "/audit?actor=bob", "/system",
  "/nothing/here",
];

/** Discards some jobs in an operation, so that there is one to look at. */
const beginOperation = async (url, page) => {
  await page.goto(`${url}/operations/new?verb=discard&state=live&q=kind:archive_order`);
  await page.getByLabel(/^Reason/).fill("a wrong deploy");
  const typed = page.getByLabel(/^Type/);
  if (await typed.count()) await typed.fill(await page.locator("input[name=count]").inputValue());
  await page.locator("main form button.primary").click();
  await page.waitForURL(/operations\/\d+/);
};

/** All paths below the mount. */
export const allPaths = async (url, page) => {
  if ((await ask(url, "operations")).items.length === 0) await beginOperation(url, page);
  const first = async (path) => (await ask(url, path)).items[0].id;
  const jobs = ["running", "blocked", "scheduled"].map((state) => first(`jobs?state=${state}`));
  const retrying = first("jobs?q=kind:build_report");
  const selected = `/operations/new?only=rows&verb=cancel&row=${await retrying}`;
  const ended = (await ask(url, "jobs?state=finished")).items.find((job) => job.ended).id;
  const found = [...(await Promise.all([...jobs, retrying])), ended].map((id) => `/jobs/${id}`);
  found.push(`/workers/${await first("workers")}`, `/dead/${await first("dead-letters")}`);
  found.push(`/operations/${await first("operations")}`);
  const batch = `/batches/${await first("batches")}`;
  found.push(batch, `${batch}?only=dead`);
  return [...FIXED, ...found, selected];
};

/** A path without what differs from row to row. */
export const shape = (path) =>
  path.split("?")[0].replace(/\/[0-9a-f]*\d[0-9a-f]*(?=\/|$)/g, "/{id}");
