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
  await page.getByRole("link", { name: "Change…" }).click();
  const when = page.getByLabel("When");
  await when.fill("0 0 30 2 *");
  await page.getByRole("button", { name: "Change", exact: true }).click();
  await page.getByText("never comes").waitFor();
  assert.equal(await when.getAttribute("aria-invalid"), "true");
  await when.fill("@yearly Asia/Tokyo");
  await page.getByRole("button", { name: "Preview" }).click();
  assert.equal(await page.locator("form ol li").count(), 5);
  await page.getByRole("button", { name: "Change", exact: true }).click();
  await page.getByText("report-007 is changed.").waitFor();
  await page.getByText("@yearly Asia/Tokyo").waitFor();
  await page.getByRole("button", { name: "Run now" }).click();
  await page.getByText("by hand, alice").waitFor();
  await page.locator("summary", { hasText: "Pause…" }).click();
  await page.getByLabel("Reason").fill("a wrong number");
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await page.getByText("a wrong number").first().waitFor();
  visit.wrongs.length = 0; // the browser itself says that a change was refused
  await close(visit);
});

test("one is made by keyboard, without a script, and deleted", async () => {
  const visit = await open(browser, { javaScriptEnabled: false });
  const { page } = visit;
  await page.goto(`${site.url}/schedules`);
  await page.getByRole("link", { name: "New schedule…" }).click();
  await page.getByLabel("Name").fill("by hand");
  await page.keyboard.press("Tab");
  await page.keyboard.type("@daily Asia/Tokyo");
  await page.locator("select[name=kind]").selectOption("build_report");
  await page.getByLabel("Payload").fill("{");
  await page.getByLabel("Name").press("Enter");
  await page.getByText("It is not JSON").waitFor();
  assert.equal(await page.locator("select[name=kind]").inputValue(), "build_report");
  await page.getByLabel("Payload").fill('{"month": "2026-12"}');
  await page.getByLabel("Name").press("Enter");
  await page.getByText("by hand is made.").waitFor();
  await page.locator("summary", { hasText: "Delete…" }).click();
  await page.getByRole("button", { name: "Delete the schedule" }).click();
  await page.getByText("by hand is deleted.").waitFor();
  visit.wrongs.length = 0; // the browser itself says that a form was refused
  await close(visit);
});
