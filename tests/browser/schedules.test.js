// Schedules: two hundred on a page, with a picture of the day, and what is done to one.

import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { close, open, startBrowser, startSite } from "./browser.js";

const site = await startSite("/");
const browser = await startBrowser();

const QUARTER = 15 * 60_000;

/** In which quarters of an hour from a time on, within a day, a clock in this zone is at a time. */
const quarters = (from, zone, holds) => {
  const clock = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone, weekday: "short", hour: "2-digit", minute: "2-digit",
  });
  const found = [];
  const day = from + 96 * QUARTER;
  for (let at = Math.floor(from / QUARTER + 1) * QUARTER; at < day; at += QUARTER) {
    const parts = clock.formatToParts(at).map((part) => [part.type, part.value]);
    const shown = Object.fromEntries(parts);
    if (holds(Number(shown.hour) % 24, Number(shown.minute), shown.weekday)) {
      found.push(Math.floor((at - from) / QUARTER));
    }
  }
  return found;
};

/** The days of the five schedules of which there are forty each. */
const expectedDays = (now) => [
  quarters(now, "Europe/Berlin", (hour, minute) => hour === 0 && minute === 0),
  quarters(now, "UTC", (_, minute) => minute % 30 === 0),
  quarters(now, "America/New_York", (hour, minute) => hour % 12 === 3 && minute === 0),
  quarters(now, "UTC", () => true),
  quarters(now, "UTC", (hour, minute, day) =>
    hour === 9 && minute === 0 && !["Sat", "Sun"].includes(day)),
];

/** What a row says: its times by the machine-readable ones, and the quarters that are drawn. */
const read = (rows) => rows.map((row) => {
  const cell = (label) => row.querySelector(`td[data-l="${label}"]`);
  const time = (label) => Date.parse(cell(label).querySelector("time")?.dateTime);
  const drawn = [...cell("Next 24 hours").querySelectorAll("svg[role=img] rect.used")];
  return {
    name: cell("Schedule").querySelector("a").textContent,
    next: time("Next"),
    last: time("Last"),
    job: cell("Last").querySelector("a")?.getAttribute("href"),
    missed: cell("Missed").textContent,
    day: drawn.flatMap((rect) => Array.from(
      { length: Number(rect.getAttribute("width")) },
      (_, at) => Number(rect.getAttribute("x")) + at,
    )),
  };
});

test("two hundred are on one page, each with what came and is to come", async () => {
  const visit = await open(browser);
  const before = Date.now();
  await visit.page.goto(`${site.url}/schedules`);
  const after = Date.now();
  const rows = await visit.page.locator("#page tbody tr").evaluateAll(read);
  assert.equal(rows.length, 200);
  const minute = 60_000;
  const soon = (at, hours) => assert.ok(Math.abs(at - before - hours * 60 * minute) < 5 * minute);
  // The page may have been made on either side of the end of a quarter.
  const days = [expectedDays(before), expectedDays(after)];
  rows.forEach((row, n) => {
    assert.equal(row.name, `report-${String(n).padStart(3, "0")}`);
    // Workers bring forward what is stored for later than its times say.
    assert.ok(row.next > before && row.next - before < 28 * 60 * minute, row.name);
    const drawn = days.some((five) => isDeepStrictEqual(row.day, five[n % 5]));
    assert.ok(drawn, `${row.name}: ${row.day}`);
    // Of those that were missed two within a day.
    assert.equal(row.missed, n === 1 ? "2" : "0", row.name);
    assert.equal(row.job, n === 1 ? "/jobs/7" : undefined, row.name);
  });
  soon(rows[1].last, -14);
  assert.equal(rows.filter((row) => !Number.isNaN(row.last)).length, 1);
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
  await page.getByText("never occurs").waitFor();
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
  await page.getByText("This is not JSON").waitFor();
  assert.equal(await page.locator("select[name=kind]").inputValue(), "build_report");
  await page.getByLabel("Payload").fill('{"month": "2026-12"}');
  await page.getByLabel("Name").press("Enter");
  await page.getByText("by hand is created.").waitFor();
  await page.locator("summary", { hasText: "Delete…" }).click();
  await page.getByRole("button", { name: "Delete the schedule" }).click();
  await page.getByText("by hand is deleted.").waitFor();
  visit.wrongs.length = 0; // the browser itself says that a form was refused
  await close(visit);
});
