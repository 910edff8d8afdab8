// Every page, in both themes and on a narrow screen.

import assert from "node:assert/strict";
import { test } from "node:test";
import axe from "axe-core";
import { close, open, startBrowser, startSite } from "./browser.js";
import { allPaths, shape } from "./paths.js";

const site = await startSite("/");
const browser = await startBrowser();
// Colours that are on their way from one theme to the other are nobody's.
const walk = await open(browser, { reducedMotion: "reduce", colorScheme: "light" });
const paths = await allPaths(site.url, walk.page);

const LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/** Goes to a page; that one is not there says the browser itself. */
const go = async ({ page, wrongs }, path) => {
  const response = await page.goto(site.url + path);
  const expected = path === "/nothing/here" ? 404 : 200;
  assert.equal(response.status(), expected, path);
  if (expected === 200) return;
  // The browser itself says that it got a 404.
  const isStatus = (text) => text.startsWith("Failed to load resource") && text.includes(expected);
  for (let at; (at = wrongs.findIndex(isStatus)) >= 0; ) wrongs.splice(at, 1);
};

const menus = (page) => page.locator("main details.menu > summary").all();

/** What axe has to say about a page, in both themes. */
const inaccessible = async (page) => {
  // What is selected has a ground of its own, and brings up what can be done with it.
  const [row] = await page.locator("input[type=checkbox][name=row]").all();
  await row?.check();
  const [menu] = await menus(page);
  await menu?.click();
  await page.evaluate(axe.source);
  const look = (runOnly) => page.evaluate(async (runOnly) => {
    const { violations } = await axe.run({ runOnly, resultTypes: ["violations"] });
    return violations.flatMap(({ id, nodes }) =>
      nodes.slice(0, 3).map(({ html }) => `${id}: ${html.slice(0, 160)}`));
  }, runOnly);
  const light = await look(LEVELS);
  await page.evaluate(() => { document.documentElement.dataset.theme = "dark"; });
  const dark = await look(["color-contrast"]);
  if (menu) await page.keyboard.press("Escape");
  await row?.uncheck();
  return [...light, ...dark.map((what) => `dark: ${what}`)];
};

/** What is wrong with where things are: the page is too wide, or controls lie upon each other. */
const misplaced = () => {
  const wrongs = [];
  const wide = document.scrollingElement.scrollWidth;
  if (wide > innerWidth) wrongs.push(`${wide} px wide`);
  const panel = document.querySelector("details.menu[open] > .panel");
  const within = panel?.getBoundingClientRect();
  if (within && (within.left < 0 || within.right > innerWidth)) {
    wrongs.push(`a menu from ${within.left} to ${within.right} px`);
  }
  // What a menu covers is not to be clicked while it is open.
  const kinds = "a, button, input, select, summary, textarea";
  const controls = [...(panel ?? document).querySelectorAll(kinds)]
    .filter((control) => control.checkVisibility() && !control.matches(".skip, .skip *"));
  const boxes = controls.map((control) => [...control.getClientRects()]);
  const meet = (a, b) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
  controls.forEach((one, i) => controls.slice(i + 1).forEach((other, j) => {
    if (one.contains(other) || other.contains(one)) return;
    if (boxes[i].some((a) => boxes[i + 1 + j].some((b) => meet(a, b)))) {
      wrongs.push(`“${one.textContent.trim()}” upon “${other.textContent.trim()}”`);
    }
  }));
  return wrongs;
};

/** Where things are wrong at a width, with all menus closed and with one after the other open. */
const misplacedAt = async (page, width) => {
  await page.setViewportSize({ width, height: 740 });
  const found = (await page.evaluate(misplaced)).map((what) => `${width}: ${what}`);
  if (width > 360) return found;
  for (const menu of (await menus(page)).slice(0, 4)) {
    await menu.click();
    const name = await menu.textContent();
    found.push(...(await page.evaluate(misplaced)).map((what) => `${width}, ${name}: ${what}`));
    await page.keyboard.press("Escape");
  }
  return found;
};

const found = { policy: [], access: [], places: [] };
const linked = new Set();
for (const path of paths) {
  const { page, wrongs } = walk;
  const note = (list, whats) => list.push(...whats.map((what) => `${path}: ${what}`));
  await page.setViewportSize({ width: 1280, height: 800 });
  await go(walk, path);
  note(found.access, await inaccessible(page));
  for (const width of [1024, 900, 360]) note(found.places, await misplacedAt(page, width));
  const links = page.locator("a[href]:not([download])");
  for (const to of await links.evaluateAll((links) => links.map(({ pathname }) => pathname))) {
    linked.add(shape(to));
  }
  note(found.policy, wrongs.splice(0));
}
await close(walk);

test("no page breaks its policy or says an error", () => assert.deepEqual(found.policy, []));
test("no page keeps somebody out, light or dark", () => assert.deepEqual(found.access, []));
test("every page fits, down to 360 px", () => assert.deepEqual(found.places, []));
test("no link leads to a page that was not looked at", () => {
  const known = new Set(paths.map(shape));
  assert.deepEqual([...linked].filter((to) => !known.has(to)), []);
});

test("a chosen theme is kept, and there from the first byte", async () => {
  const visit = await open(browser);
  const { page } = visit;
  await page.goto(site.url);
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const grounds = new Set();
  for (const theme of ["light", "dark"]) {
    await page.locator("[data-theme-button]").click();
    await page.locator(`html[data-theme=${theme}]`).waitFor();
    const first = await (await page.goto(`${site.url}/jobs`)).text();
    assert(first.includes(`<html lang="en" data-theme="${theme}">`));
    grounds.add(await ground());
  }
  assert.equal(grounds.size, 2);
  await close(visit);
});
