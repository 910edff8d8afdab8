// Rows that are selected: with a mouse, with the keyboard, and without JavaScript.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, askUntil, close, open, startBrowser, startSite } from "./browser.js";

const site = await startSite("/jobs");
const browser = await startBrowser();
const { url } = site;

const items = async (path) => (await ask(url, path)).items;
const rows = (page) => page.locator("#page tbody tr");
const boxes = (page) => page.locator("#page input[name=row]");
const said = (page) => page.locator("#chosen output").textContent();

/** A page that is live. */
const at = async (path) => {
  const visit = await open(browser);
  await visit.page.goto(url + path);
  await visit.page.locator(".live.on").waitFor();
  return visit;
};

test("what can be done with rows is shown once some are selected", async () => {
  const visit = await at("/jobs?state=scheduled");
  const { page } = visit;
  const bar = page.locator("#chosen");
  assert.equal(await bar.isVisible(), false);
  await boxes(page).nth(0).check();
  await boxes(page).nth(2).check();
  await bar.waitFor();
  assert.equal(await said(page), "2 selected");
  const all = page.getByLabel("Select all rows of this page");
  assert(await all.evaluate((box) => box.indeterminate));
  await all.check();
  assert.equal(await said(page), `${await rows(page).count()} selected`);
  await page.getByRole("button", { name: "Clear" }).click();
  await bar.waitFor({ state: "hidden" });
  // A moment after the rows.
  await page.locator("input[data-all]:not(:checked)").waitFor({ state: "attached" });
  await close(visit);
});

test("a page waits while rows are selected, and goes on after that", async () => {
  const visit = await at("/jobs?state=ready&q=kind:archive_order");
  const { page } = visit;
  const before = await rows(page).count();
  await boxes(page).nth(1).check();
  assert.equal(await page.locator(".live").textContent(), "Paused");
  await site.order("archive");
  // Two looks at the clock.
  await page.waitForTimeout(11_000);
  assert.equal(await rows(page).count(), before);
  assert(await boxes(page).nth(1).isChecked());
  await boxes(page).nth(1).uncheck();
  assert.equal(await page.locator(".live").textContent(), "Live");
  await rows(page).nth(before).waitFor();
  await page.getByLabel("Select all rows of this page").waitFor();
  await close(visit);
});

test("selected jobs are cancelled without a mouse", async () => {
  const visit = await at("/jobs?state=scheduled&q=kind:send_receipt");
  const { page } = visit;
  for (const key of ["j", "x", "j", "j", "x", "k", "x", "x"]) await page.keyboard.press(key);
  assert.equal(await said(page), "2 selected");
  const ids = await page.locator("#page input[name=row]:checked").evaluateAll((rows) =>
    rows.map((row) => row.value));
  assert.deepEqual(ids, await boxes(page).evaluateAll((rows) => [rows[0].value, rows[2].value]));
  await page.getByRole("button", { name: "Cancel…" }).focus();
  await page.keyboard.press("Enter");
  await page.locator(".big", { hasText: "2 of 2 selected match" }).waitFor();
  await page.getByLabel(/^Reason/).fill("a wrong deploy");
  await page.getByRole("button", { name: "Cancel jobs" }).focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/operations\/\d+$/);
  const id = page.url().match(/\d+$/)[0];
  const ended = await askUntil(url, `operations/${id}`, ({ state }) => state === "done");
  assert.deepEqual([ended.done, ended.filter.ids], [2, ids]);
  for (const job of ids) {
    const gone = (await ask(url, `jobs/${job}`)).ended;
    assert.equal(gone, "cancel");
  }
  await close(visit);
});

test("selected dead letters are replayed without JavaScript", async () => {
  const visit = await open(browser, { javaScriptEnabled: false });
  const { page } = visit;
  await page.goto(`${url}/dead/entries?kind=charge_card`);
  await boxes(page).nth(0).check();
  await boxes(page).nth(1).check();
  await page.getByRole("button", { name: "Replay…" }).click();
  await page.locator(".big", { hasText: "2 of 2 selected match" }).waitFor();
  await page.getByRole("button", { name: "Replay dead letters" }).click();
  await page.waitForURL(/operations\/\d+$/);
  const id = page.url().match(/\d+$/)[0];
  await askUntil(url, `operations/${id}`, ({ state, done }) => state === "done" && done === 2);
  const twice = (await items("dead-letters?kind=charge_card")).filter(({ cycles }) => cycles > 1);
  assert(twice.length <= 2, JSON.stringify(twice));
  await close(visit);
});

test("on a narrow screen rows are selected, too", async () => {
  const visit = await open(browser, { viewport: { width: 360, height: 740 } });
  const { page } = visit;
  await page.goto(`${url}/jobs?state=scheduled`);
  await boxes(page).nth(0).check();
  await page.locator("#chosen").waitFor();
  const box = await page.locator("#chosen").boundingBox();
  assert(box.x >= 0 && box.x + box.width <= 360 && box.y + box.height <= 741, JSON.stringify(box));
  await close(visit);
});
