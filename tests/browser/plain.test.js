// Without JavaScript: pages are read, and forms are sent.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, askUntil, close, open, startBrowser, startSite } from "./browser.js";

const site = await startSite("proxied");
const browser = await startBrowser();
const { url } = site;

const visiting = (path, acts) => async () => {
  const visit = await open(browser, { javaScriptEnabled: false });
  await visit.page.goto(url + (typeof path === "string" ? path : await path()));
  await acts(visit.page);
  await close(visit);
};

const items = async (path) => (await ask(url, path)).items;
const button = (page, name) => page.getByRole("button", { name, exact: true });
const menu = (scope, name) => scope.locator("details.menu > summary", { hasText: name }).click();
const said = (page, text) => page.locator("#flash .flash", { hasText: text }).waitFor();
const row = (page, text) => page.locator("#page tbody tr", { hasText: text });
const firstDead = async (kind) => `/dead/${(await items(`dead-letters?kind=${kind}`))[0].id}`;
const idOf = (page) => page.url().match(/(\d+)(\?.*)?$/)[1];

test("pages are read, and none says that it is live", visiting("/", async (page) => {
  for (const name of await page.locator("nav.side a").allTextContents()) {
    await page.locator("nav.side a", { hasText: name }).click();
    await page.locator("h1", { hasText: name }).waitFor();
    assert.equal(await page.locator(".live").textContent(), "Static");
    for (const age of await page.locator("time:visible").allTextContents()) assert.match(age, /\S/);
  }
}));

test("jobs are searched", visiting("/jobs", async (page) => {
  await page.locator("#q").fill("kind:build_report");
  await button(page, "Search").click();
  assert.equal(await page.locator("#page tbody tr").count(), 6);
}));

test("a queue is paused and resumed", visiting("/queues", async (page) => {
  await menu(row(page, "mail"), "Pause…");
  await button(row(page, "mail"), "Pause").click();
  await said(page, "mail is paused");
  await button(row(page, "mail"), "Resume").click();
  await said(page, "mail is resumed");
}));

test("limits are set", visiting("/concurrency", async (page) => {
  await menu(page, "Limit…");
  await page.locator(".panel input[name=running]:visible").fill("2");
  await button(page, "Set").click();
  await said(page, "Group sync_account is set: at most 2");
  await row(page, "acme").locator("a[data-row]").click();
  await menu(page, "Limit…");
  await page.locator(".panel input[name=running]:visible").fill("3");
  await button(page, "Set").click();
  await page.locator("#flash .flash").waitFor();
  assert.equal((await items("semaphores"))[0].override_limit, 3);
}));

test("a job is put off, run, cancelled and discarded", visiting(
  async () => `/jobs/${(await items("jobs?state=scheduled&q=kind:build_report"))[0].id}`,
  async (page) => {
    const id = idOf(page);
    await menu(page, "Later…");
    await button(page, "Reschedule").click();
    await page.locator("#flash .flash").waitFor();
    await button(page, "Run now").click();
    await said(page, "is due now");
    await askUntil(url, `jobs/${id}`, (job) => job.attempt === 2 && job.state === "scheduled");
    await page.goto(`${url}/jobs/${id}`);
    await menu(page, "Cancel…");
    await button(page, "Cancel the job").click();
    await said(page, "is cancelled");
    const other = (await items("jobs?state=scheduled&q=kind:build_report"))[0].id;
    await page.goto(`${url}/jobs/${other}`);
    await menu(page, "Discard…");
    await page.getByLabel("Reason").fill("twice");
    await button(page, "Discard the job").click();
    await page.locator("#flash .flash").waitFor();
    assert.equal((await ask(url, `jobs/${other}`)).ended, "discard");
  }));

test("dead letters are replayed and discarded", visiting(
  () => firstDead("charge_card"), async (page) => {
    const id = idOf(page);
    await button(page, "Replay").click();
    await said(page, "replays dead letter");
    await askUntil(url, `dead-letters/${id}`, (dead) => dead.cycles === 2);
    await page.goto(`${url}/dead/${id}`);
    await page.locator("summary", { hasText: "Edit and replay" }).click();
    await page.locator("textarea").fill('{"account": "globex", "card": "4242", "cents": 1}');
    await button(page, "Replay with this payload").click();
    await askUntil(url, `dead-letters/${id}`, (dead) => dead.state === "resolved");
    await page.goto(url + await firstDead("send_receipt"));
    const gone = idOf(page);
    await menu(page, "Discard…");
    await button(page, "Discard").click();
    await page.locator("#flash .flash").waitFor();
    assert.equal((await fetch(`${url}/api/v1/dead-letters/${gone}`)).status, 404);
  }));

test("all of a list are discarded, and a worker is stopped", visiting(
  "/jobs?state=ready&q=kind:archive_order", async (page) => {
    await page.getByText("Discard all…").click();
    await page.getByLabel(/^Reason/).fill("a wrong deploy");
    const typed = page.getByLabel(/^Type/);
    if (await typed.count()) await typed.fill("6");
    await page.locator("main form button.primary").click();
    await askUntil(url, "jobs?state=ready", ({ items }) => items.length === 0);
    const { id } = (await items("workers")).find(({ name }) => name === "web-2");
    await page.goto(`${url}/workers/${id}`);
    await menu(page, "Stop…");
    await button(page, "Ask it to stop").click();
    await said(page, "has been asked to stop");
  }));
