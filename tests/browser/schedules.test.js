// Schedules: two hundred on a page, with a picture of the day, and what is done to one.

import assert from "node:assert/strict";
import { test } from "node:test";
import { close, open, startBrowser, startSite } from "./browser.js";

const site = await startSite("/");
const browser = await startBrowser();

test("two hundred are on one page, each with the day to come", async () => {
  const visit = await open(browser);
  await visit.page.goto(`${site.url}/schedules`);
  assert.equal(await visit.page.locator("#page tbody tr").count(), 200);
  const days = visit.page.locator("#page tbody svg[role=img]");
  assert.equal(await days.count(), 200);
  // Every quarter of an hour is nearly all of it, every half an hour is half.
  const drawn = (row) => days.nth(row).locator("rect.used").evaluateAll((parts) =>
    parts.reduce((sum, part) => sum + Number(part.getAttribute("width")), 0));
  assert.ok(await drawn(3) >= 95);
  assert.ok(Math.abs(await drawn(1) - 48) <= 1);
  assert.equal(await drawn(0), 1);
  await close(visit);
});

test("one is resumed, changed, run and paused", async () => {
  const visit = await open(browser);
  const { page } = visit;
  await page.goto(`${site.url}/schedules`);
  await page.getByRole("link", { name: "report-007" }).click();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByText("report-007 is not paused.").waitFor();
  await page.locator("summary", { hasText: "Change…" }).click();
  await page.locator("input[name=times]").fill("0 0 30 2 *");
  await page.getByRole("button", { name: "Change", exact: true }).click();
  await page.getByText("never comes").first().waitFor();
  await page.goto(`${site.url}/schedules/schedule?name=report-007`);
  await page.locator("summary", { hasText: "Change…" }).click();
  await page.locator("input[name=times]").fill("@yearly Asia/Tokyo");
  await page.getByRole("button", { name: "Change", exact: true }).click();
  await page.getByText("report-007 comes at @yearly Asia/Tokyo from now on.").waitFor();
  await page.getByRole("button", { name: "Run now" }).click();
  await page.getByText("by hand, alice").waitFor();
  await page.locator("summary", { hasText: "Pause…" }).click();
  await page.getByLabel("Reason").fill("a wrong number");
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await page.getByText("a wrong number").first().waitFor();
  visit.wrongs.length = 0; // the browser itself says that a change was refused
  await close(visit);
});
