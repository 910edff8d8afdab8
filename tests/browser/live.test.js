// Pages follow what happens elsewhere, without being loaded again.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, close, open, startBrowser, startSite, until } from "./browser.js";

const site = await startSite("/jobs");
const browser = await startBrowser();

/** A page that is live, with a mark that a reload would take away. */
const openLive = async (path) => {
  const visit = await open(browser);
  await visit.page.goto(site.url + path);
  await visit.page.locator(".live.on").waitFor();
  await visit.page.evaluate(() => { window.mark = "the same page"; });
  return visit;
};

const closeLive = async (visit) => {
  assert.equal(await visit.page.evaluate(() => window.mark), "the same page");
  await close(visit);
};

const rows = (page) => page.locator("#page tbody tr");

test("a job appears once it is enqueued, and once it has ended", async () => {
  const ready = await openLive("/jobs?state=ready&q=kind:archive_order");
  const ended = await openLive("/jobs?state=finished&q=kind:send_receipt");
  const readyBefore = await rows(ready.page).count();
  const endedBefore = await rows(ended.page).count();
  await site.order("archive");
  await site.order("receipt");
  await rows(ready.page).nth(readyBefore).waitFor();
  await rows(ended.page).nth(endedBefore).waitFor();
  await closeLive(ready);
  await closeLive(ended);
});

test("what somebody does is on another's page before the next look at the clock", async () => {
  const visit = await openLive("/queues");
  await visit.page.waitForTimeout(1000);
  const asked = Date.now();
  const body = JSON.stringify({ scope: "queue", name: "mail" });
  const headers = { "content-type": "application/json" };
  await fetch(`${site.url}/api/v1/limits/pause`, { method: "POST", headers, body });
  await visit.page.locator("tr", { hasText: "mail" }).locator(".state.paused").waitFor();
  assert(Date.now() - asked < 3500, `after ${Date.now() - asked} ms`);
  await closeLive(visit);
});

test("a page stays as it is while somebody is at work in it", async () => {
  const visit = await openLive("/jobs?state=ready&q=kind:archive_order");
  const { page } = visit;
  const before = await rows(page).count();
  const typed = "kind:send_rec";
  await page.locator("#q").fill(typed);
  await site.order("archive");
  // Two looks at the clock.
  await page.waitForTimeout(11_000);
  assert.equal(await rows(page).count(), before);
  assert.equal(await page.locator("#q").inputValue(), typed);
  const jobs = await ask(site.url, "jobs?state=ready&q=kind:archive_order");
  assert.equal(jobs.items.length, before + 1);
  await page.locator("h1").click();
  await page.locator("#q").blur();
  await rows(page).nth(before).waitFor();
  await closeLive(visit);
});

test("a menu that is open stays open, with what was typed into it", async () => {
  const visit = await openLive("/queues");
  const { page } = visit;
  await page.getByText("Pause another…").click();
  await page.getByLabel("Queue (need not exist yet)").fill("imports");
  await site.order("archive");
  await page.waitForTimeout(5_500);
  assert.equal(await page.getByLabel("Queue (need not exist yet)").inputValue(), "imports");
  await closeLive(visit);
});

/** Stops what a page asks for until it is let go; `asked` has each that waits. */
const stopped = async (page, holds) => {
  const asked = [];
  await page.route((url) => url.href.startsWith(site.url), (route) =>
    holds(route.request()) ? asked.push(route) : route.fallback());
  return asked;
};

const tell = (page) => page.evaluate(() => document.dispatchEvent(new Event("jobkit")));

test("a page does not ask for itself while what was done in it is under way", async () => {
  const visit = await openLive("/queues");
  const { page } = visit;
  const asked = [];
  page.on("request", (request) => asked.push(`${request.method()} ${request.url()}`));
  const posts = await stopped(page, (request) => request.method() === "POST");
  const reports = page.locator("#page tbody tr", { hasText: "reports" });
  await reports.locator("summary", { hasText: "Pause…" }).click();
  await reports.getByRole("button", { name: "Pause", exact: true }).click();
  await until(() => posts.length === 1, () => `${posts.length} posts`);
  asked.length = 0;
  await tell(page);
  await page.evaluate(() => new Promise(requestAnimationFrame));
  assert.deepEqual(asked, []);
  await posts[0].continue();
  await reports.locator(".state.paused").waitFor();
  await closeLive(visit);
});

test("an older look at a page does not come after what was done in it", async () => {
  const visit = await openLive("/queues");
  const { page } = visit;
  const ended = [];
  page.on("requestfailed", (request) => ended.push(request.failure().errorText));
  const looks = await stopped(page, (request) =>
    request.method() === "GET" && request.url() === `${site.url}/queues` && looks.length === 0);
  await tell(page);
  await until(() => looks.length === 1, () => `${looks.length} looks`);
  const billing = page.locator("#page tbody tr", { hasText: "billing" });
  await billing.locator("summary", { hasText: "Pause…" }).click();
  await billing.getByRole("button", { name: "Pause", exact: true }).click();
  await until(() => ended.length === 1, () => `${ended.length} looks were given up`);
  assert.deepEqual(ended, ["net::ERR_ABORTED"]);
  await billing.locator(".state.paused").waitFor();
  await closeLive(visit);
});

test("a page is live whichever of its scripts comes late", async () => {
  const found = await openLive("/queues");
  const sources = await found.page.locator("script[src]").evaluateAll((scripts) =>
    scripts.map((script) => script.src));
  await closeLive(found);
  assert(sources.length > 1, sources.join(" "));
  for (const source of sources) {
    const visit = await open(browser);
    const late = visit.page.waitForRequest(source);
    await visit.page.route(source, async (route) => {
      await new Promise((passed) => setTimeout(passed, 500));
      await route.continue();
    });
    await visit.page.goto(`${site.url}/queues`);
    await late;
    await visit.page.locator(".live.on").waitFor();
    await close(visit);
  }
});

test("a page that is refused the stream says how often it asks", async () => {
  const visit = await open(browser);
  await visit.page.route("**/events", (route) => route.fulfill({ status: 503, body: "" }));
  await visit.page.goto(`${site.url}/queues`);
  await visit.page.locator(".live", { hasText: "Every 15 s" }).waitFor();
  assert.equal(await visit.page.locator(".live.on").count(), 0);
  const refused = visit.wrongs.filter((wrong) => wrong.includes("503"));
  await close(visit, refused);
});

test("what is shown says that it is old while the database does not answer", async () => {
  const visit = await openLive("/queues");
  const { page } = visit;
  const title = await page.title();
  let away = true;
  await page.route(`${site.url}/queues`, (route) => {
    if (!away) return route.fallback();
    const headers = { "content-type": "text/html", "hx-retarget": "#banner", "hx-reswap": "innerHTML" };
    return route.fulfill({ status: 503, headers, body: "<div class=banner>It does not answer.</div>" });
  });
  await tell(page);
  // The stream is there all the while.
  await page.locator(".live.stale", { hasText: /^Stale: \d+ s old$/ }).waitFor();
  assert.equal(await page.locator(".live.on").count(), 0);
  assert.equal(await page.title(), `Stale: ${title}`);
  assert.equal(await page.locator("html[data-stale]").count(), 1);
  const before = await page.locator(".live").textContent();
  await until(async () => await page.locator(".live").textContent() !== before, () => before);
  away = false;
  await tell(page);
  await page.locator(".live.on", { hasText: "Live" }).waitFor();
  assert.equal(await page.title(), title);
  assert.equal(await page.locator("html[data-stale]").count(), 0);
  const refused = visit.wrongs.filter((wrong) => wrong.includes("503"));
  await close(visit, refused);
});
