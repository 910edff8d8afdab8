// What somebody chooses for a browser, and what a search box suggests.

import assert from "node:assert/strict";
import { test } from "node:test";
import { close, open, startBrowser, startSite } from "./browser.js";

const site = await startSite("/jobs");
const browser = await startBrowser();
const { url } = site;

const rows = (page) => page.locator("#page tbody tr");
const status = (page, text) => page.locator(".live", { hasText: text }).waitFor();

const choose = async (page, name) => {
  await page.locator(".top details.menu > summary").click();
  await page.getByRole("button", { name, exact: true }).click();
  await page.waitForLoadState();
};

test("a page asks as often as was chosen, and stays where it was", async () => {
  const visit = await open(browser);
  const { page } = visit;
  const path = "/jobs?state=ready&q=kind:archive_order";
  await page.goto(url + path);
  await status(page, "Live");
  await choose(page, "Off");
  await status(page, "Off");
  assert(page.url().endsWith(path), page.url());
  const before = await rows(page).count();
  await site.order("archive");
  // Two looks at the clock of a live page.
  await page.waitForTimeout(11_000);
  assert.equal(await rows(page).count(), before);
  await page.keyboard.press("r");
  await rows(page).nth(before).waitFor();
  await choose(page, "Every 30 s");
  await status(page, "Every 30 s");
  await page.goto(`${url}/queues`);
  await status(page, "Every 30 s");
  await choose(page, "Every 5 s");
  await status(page, "Live");
  await close(visit);
});

test("the last word of a search is suggested", async () => {
  const visit = await open(browser);
  const { page } = visit;
  await page.goto(`${url}/jobs`);
  const suggested = () => page.locator("#q").evaluate((box) =>
    [...box.list.options].map((option) => option.value));
  assert((await suggested()).includes("queue:"));
  await page.locator("#q").fill("kind:build_report que");
  assert((await suggested()).includes("kind:build_report queue:"));
  assert((await suggested()).includes("kind:build_report state:retrying"));
  await page.locator("#q").fill("kind:build_report state:retrying");
  await page.keyboard.press("Enter");
  await page.waitForURL(/q=kind/);
  assert.equal(await page.locator("#q").inputValue(), "kind:build_report");
  const tab = page.locator("nav.tabs a[aria-current=page]");
  assert.match(await tab.textContent(), /^Retrying/);
  await close(visit);
});
