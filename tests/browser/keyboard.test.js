// Without a mouse.

import assert from "node:assert/strict";
import { test } from "node:test";
import { close, open, startBrowser, startSite } from "./browser.js";

const site = await startSite("/a/b");
const browser = await startBrowser();

const at = async (path) => {
  const visit = await open(browser);
  await visit.page.goto(site.url + path);
  return { ...visit, press: async (...keys) => {
    for (const key of keys) await visit.page.keyboard.press(key);
  } };
};

const active = (page) => page.evaluate(() => document.activeElement.textContent.trim());

test("the first Tab leads to the content", async () => {
  const visit = await at("/queues");
  await visit.press("Tab");
  assert.equal(await active(visit.page), "Skip to content");
  const box = await visit.page.locator(".skip").boundingBox();
  assert(box.x >= 0 && box.y >= 0, "it is to be seen");
  await visit.press("Enter");
  assert.equal(await visit.page.evaluate(() => document.activeElement.id), "page");
  await close(visit);
});

test("every control is reached by Tab, and shows that it is", async () => {
  const visit = await at("/concurrency");
  const { page } = visit;
  const controls = await page.locator(
    "a[href]:visible, button:visible, summary:visible, input:visible, select:visible").count();
  const seen = [];
  for (let n = 0; n < controls; n += 1) {
    await visit.press("Tab");
    const shown = await page.evaluate(() => {
      const one = document.activeElement;
      const { outlineStyle, outlineWidth } = getComputedStyle(one);
      const isOutlined = outlineStyle !== "none" && outlineWidth !== "0px";
      const isShown = one.matches(":focus-visible") && isOutlined;
      one.dataset.reached = "";
      return isShown || one.outerHTML;
    });
    assert.equal(shown, true);
    seen.push(await active(page));
  }
  assert.equal(await page.locator("[data-reached]").count(), controls, seen.join(" · "));
  await close(visit);
});

test("shortcuts lead to every page of the navigation", async () => {
  const visit = await at("/");
  const links = await visit.page.locator("a[data-key]").evaluateAll((links) =>
    links.map((link) => [link.dataset.key, link.href]));
  assert.equal(links.length, 14);
  for (const [key, href] of links) {
    await visit.press("g", key);
    await visit.page.waitForURL(href);
    await visit.page.waitForLoadState();
  }
  await close(visit);
});

test("rows are walked through, and opened", async () => {
  const visit = await at("/dead/entries");
  const rows = visit.page.locator("#page tbody a[data-row]");
  await visit.press("j", "j", "j", "k");
  assert(await rows.nth(1).evaluate((row) => row === document.activeElement));
  const href = await rows.nth(1).evaluate((row) => row.href);
  await visit.press("Enter");
  await visit.page.waitForURL(href);
  await close(visit);
});

test("the sheet of shortcuts opens and closes, and turns them off", async () => {
  const visit = await at("/jobs");
  const { page } = visit;
  const sheet = page.locator("dialog#keys");
  await visit.press("?");
  await sheet.waitFor();
  assert(await sheet.evaluate((sheet) => sheet.contains(document.activeElement)));
  await visit.press("Escape");
  await sheet.waitFor({ state: "hidden" });
  await visit.press("?");
  await sheet.getByRole("checkbox").focus();
  await visit.press("Space", "Escape", "?");
  assert.equal(await sheet.isVisible(), false);
  await page.reload();
  await visit.press("/");
  assert.notEqual(await page.evaluate(() => document.activeElement.id), "q");
  await close(visit);
});

test("a search is begun with a slash, and what is typed is no shortcut", async () => {
  const visit = await at("/jobs");
  await visit.press("/");
  await visit.page.keyboard.type("kind:build_report g d ?");
  assert.equal(await visit.page.locator("#q").inputValue(), "kind:build_report g d ?");
  assert(visit.page.url().endsWith("/jobs"));
  await close(visit);
});

test("a queue is paused without a mouse", async () => {
  const visit = await at("/queues");
  const { page } = visit;
  await page.locator("summary", { hasText: "Pause another…" }).focus();
  await visit.press("Enter", "Tab");
  await page.keyboard.type("imports");
  await visit.press("Tab");
  await page.keyboard.type("until Monday");
  await visit.press("Enter");
  await page.locator(".flash", { hasText: "imports is paused" }).waitFor();
  await page.locator("#page tbody tr", { hasText: "until Monday" }).waitFor();
  await close(visit);
});

test("a menu closes with Escape, and the keyboard stays where it was", async () => {
  const visit = await at("/queues");
  const summary = visit.page.locator("summary", { hasText: "Pause another…" });
  await summary.focus();
  await visit.press("Enter", "Tab", "Escape");
  assert.equal(await visit.page.locator("details.menu[open]").count(), 0);
  assert.equal(await active(visit.page), "Pause another…");
  await close(visit);
});
