// Everything that can be done, done through the page, and looked at in the JSON API.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, askUntil, close, open, startBrowser, startSite } from "./browser.js";

const site = await startSite("/jobs");
const browser = await startBrowser();
const { url } = site;

/** A visit to one page, without a reload on the way. */
const visiting = (path, acts, expected) => async () => {
  const visit = await open(browser);
  await visit.page.goto(url + (typeof path === "string" ? path : await path()));
  await visit.page.locator(".live.on").waitFor();
  await acts(visit.page);
  await close(visit, expected);
};

/** What the page says after an action. */
const said = (page, text) => page.locator("#flash .flash", { hasText: text }).waitFor();
const button = (page, name) => page.getByRole("button", { name, exact: true });
const menu = (scope, name) => scope.locator("details.menu > summary", { hasText: name }).click();
const row = (page, text) => page.locator("#page tbody tr", { hasText: text });

const items = async (path) => (await ask(url, path)).items;
const queue = async (name) => (await items("queues")).find((queue) => queue.queue === name);
const audited = async (action) => (await items("audit")).filter((entry) => entry.action === action);
const firstDead = async (kind) => (await items(`dead-letters?kind=${kind}`))[0];
const jobPath = (query) => async () => `/jobs/${(await items(`jobs?${query}`))[0].id}`;
const idOf = (page) => page.url().match(/(\d+)(\?.*)?$/)[1];

test("a queue is paused with a reason, and resumed", visiting("/queues", async (page) => {
  await menu(row(page, "mail"), "Pause…");
  await row(page, "mail").getByLabel("Reason").fill("the relay is down");
  await button(row(page, "mail"), "Pause").click();
  await said(page, "mail is paused");
  await row(page, "the relay is down").locator(".state.paused").waitFor();
  assert.equal((await queue("mail")).paused.actor, "alice");
  await button(row(page, "mail"), "Resume").click();
  await said(page, "mail is resumed");
  assert.equal((await queue("mail")).paused, null);
  assert.equal((await audited("pause"))[0].detail.reason, "the relay is down");
}));

test("the limit of a group is set, and given back", visiting("/concurrency", async (page) => {
  const set = async (limit) => {
    await menu(page, "Limit…");
    await page.locator(".panel:visible input[name=running]").fill(limit);
    await button(page, "Set").click();
  };
  await set("2");
  await said(page, "Group sync_account is set: at most 2 of each key run");
  assert.deepEqual((await items("limits?scope=group"))[0].running, { value: 2, by: "operator" });
  await askUntil(url, "semaphores", ({ items }) => items[0].taken === 2);
  await set("reset");
  await askUntil(url, "limits?scope=group", ({ items }) => items[0].running.by === "code");
}));

const KEY = "/concurrency/key?group=sync_account&key=acme";

test("the limit of a key is set", visiting(KEY, async (page) => {
  await menu(page, "Limit…");
  await page.locator(".panel input[name=running]:visible").fill("3");
  await button(page, "Set").click();
  await said(page, "3");
  await askUntil(url, "semaphores", ({ items: [{ override_limit, taken }] }) =>
    override_limit === 3 && taken === 3);
}));

test("a running job is cancelled", visiting(jobPath("state=running"), async (page) => {
  const id = idOf(page);
  await menu(page, "Cancel…");
  await button(page, "Cancel the job").click();
  await page.locator("#flash .flash").waitFor();
  await askUntil(url, `jobs/${id}`, (job) => job.ended);
  await page.locator(".head .state", { hasText: /cancel/i }).waitFor();
}));

test("a scheduled job is put off, and then run", visiting(
  jobPath("state=scheduled&q=kind:send_receipt"), async (page) => {
    const id = idOf(page);
    await menu(page, "Later…");
    await page.getByLabel("Seconds from now").fill("7200");
    await button(page, "Reschedule").click();
    await page.locator("#flash .flash").waitFor();
    const { run_at } = await ask(url, `jobs/${id}`);
    assert(Math.abs(new Date(run_at) - Date.now() - 7.2e6) < 60_000, run_at);
    await button(page, "Run now").click();
    await said(page, "is due now");
    await askUntil(url, `jobs/${id}`, (job) => job.ended);
  }));

test("a job that failed is tried again", visiting(
  jobPath("state=scheduled&q=kind:build_report"), async (page) => {
    await button(page, "Run now").click();
    await askUntil(url, `jobs/${idOf(page)}`, ({ attempt, state }) =>
      attempt === 2 && state === "scheduled");
    await page.locator(".timeline li, #page tbody tr").nth(1).waitFor();
  }));

test("a job is discarded with a reason", visiting(
  jobPath("state=scheduled&q=kind:send_receipt"), async (page) => {
    const id = idOf(page);
    await menu(page, "Discard…");
    await page.getByLabel("Reason").fill("ordered twice");
    await button(page, "Discard the job").click();
    await page.locator("#flash .flash").waitFor();
    const { reason, ended } = await askUntil(url, `jobs/${id}`, (job) => job.ended);
    assert.deepEqual([ended, reason], ["discard", "ordered twice"]);
  }));

const deadPath = (kind) => async () => `/dead/${(await firstDead(kind)).id}`;

test("a dead letter is replayed, and dies again", visiting(
  deadPath("send_receipt"), async (page) => {
    await button(page, "Replay").click();
    await said(page, "replays dead letter");
    await askUntil(url, `dead-letters/${idOf(page)}`, ({ state, cycles }) =>
      state === "open" && cycles === 2);
  }));

test("a dead letter is replayed with what it should have been", visiting(
  deadPath("charge_card"), async (page) => {
    const id = idOf(page);
    await page.locator("summary", { hasText: "Edit and replay" }).click();
    const args = page.locator("textarea[name=args]");
    await args.fill("{");
    await button(page, "Replay with this payload").click();
    await page.locator("#banner .banner").waitFor();
    assert.equal((await ask(url, `dead-letters/${id}`)).state, "open");
    await args.fill(JSON.stringify({ account: "globex", card: "4242", cents: 100 }));
    await button(page, "Replay with this payload").click();
    await askUntil(url, `dead-letters/${id}`, (dead) => dead.state === "resolved");
  }, ["Failed to load resource: the server responded with a status of 422 " +
    "(Unprocessable Entity)"]));

test("a dead letter is discarded", visiting(deadPath("send_receipt"), async (page) => {
  const id = idOf(page);
  await menu(page, "Discard…");
  await button(page, "Discard").click();
  await said(page, `Dead letter ${id} is removed.`);
  assert.equal(new URL(page.url()).pathname, "/jobs/dead");
  // It is not asked for any more.
  await page.locator(".live.on").waitFor();
  const again = page.waitForResponse(page.url());
  await page.evaluate(() => document.dispatchEvent(new Event("jobkit")));
  assert.equal((await again).status(), 200);
  assert.equal((await fetch(`${url}/api/v1/dead-letters/${id}`)).status, 404);
}));

/** Confirms an operation, typing what it asks for, and sees it through. */
const confirmed = async (page, name, count) => {
  const confirm = page.locator("main form button.primary");
  await page.locator(".big", { hasText: `${count} match` }).waitFor();
  await page.getByLabel(/^Reason/).fill("a wrong deploy");
  const typed = page.getByLabel(/^Type/);
  if (await typed.count()) {
    await confirm.click();
    assert(page.url().includes("/operations/new"), "it is not begun without the number");
    await typed.fill(String(count));
  }
  await confirm.click();
  await page.waitForURL(/operations\/\d+/);
  const id = idOf(page);
  await askUntil(url, `operations/${id}`, (operation) => operation.ended_at);
  await page.locator(".figure", { hasText: "Progress" }).getByText("100 %").waitFor();
  assert.equal((await ask(url, `operations/${id}`)).done, count);
};

test("all of one cause are replayed, after a preview", visiting("/dead", async (page) => {
  const group = (await items("dead-letters/groups")).find((group) => group.kind === "charge_card");
  await row(page, "expired_card").getByText("Replay all…").click();
  await page.locator("#page tbody tr", { hasText: "charge_card" }).first().waitFor();
  await confirmed(page, "replay", group.count.number);
  const again = ({ items }) =>
    items.filter(({ cycles }) => cycles === 2).length >= group.count.number;
  await askUntil(url, "dead-letters?kind=charge_card", again);
}));

test("all that a key blocks are discarded", visiting(KEY, async (page) => {
  const { blocked } = (await items("semaphores"))[0];
  assert(blocked > 5);
  await page.getByText("Discard blocked…").click();
  await confirmed(page, "discard", blocked);
  assert.equal((await items("jobs?state=blocked")).length, 0);
}));

test("old dead letters are purged", visiting("/dead/entries?kind=send_receipt", async (page) => {
  const count = (await items("dead-letters?kind=send_receipt")).length;
  assert(count > 3);
  await menu(page, "Purge…");
  await page.getByLabel("Older than").fill("0");
  await button(page, "Preview").click();
  await confirmed(page, "purge", count);
  assert.equal((await items("dead-letters?kind=send_receipt")).length, 0);
  assert((await items("dead-letters")).length > 0, "and no others");
}));

test("dead letters are exported", visiting("/dead/entries", async (page) => {
  const download = page.waitForEvent("download");
  await page.getByText("Export").click();
  assert.equal(await (await download).failure(), null);
}));

test("a worker is stopped", visiting(
  async () => `/workers/${(await items("workers")).find(({ name }) => name === "web-2").id}`,
  async (page) => {
    await menu(page, "Stop…");
    await button(page, "Ask it to stop").click();
    await said(page, "has been asked to stop");
    const stops = ({ items }) => items.every(({ name, stopping }) => name !== "web-2" || stopping);
    await askUntil(url, "workers", stops);
  }));

test("an operation is cancelled on its way", visiting("/jobs?state=scheduled", async (page) => {
  await site.order("halt");
  await page.getByText("Cancel all…").click();
  const count = await page.locator("input[name=count]").inputValue();
  await page.getByLabel(/^Reason/).fill("a wrong deploy");
  const typed = page.getByLabel(/^Type/);
  if (await typed.count()) await typed.fill(count);
  await page.locator("main form button.primary").click();
  await page.waitForURL(/operations\/\d+/);
  await button(page, "Cancel the operation").click();
  await page.locator(".head .state", { hasText: "cancelled" }).waitFor();
  assert.equal((await ask(url, `operations/${idOf(page)}`)).state, "cancelled");
  assert((await items("jobs?state=scheduled")).length > 0);
}));
