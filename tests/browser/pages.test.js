// Every page, in both themes and on a narrow screen.

import assert from "node:assert/strict";
import { test } from "node:test";
import axe from "axe-core";
import { close, open, startBrowser, startSite } from "./browser.js";
import { allPaths, shape } from "./paths.js";

const site = await startSite("/");
const browser = await startBrowser();
const visit = await open(browser);
const paths = await allPaths(site.url, visit.page);
await close(visit);

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

const openMenu = async (page) => {
  const menu = page.locator("main details.menu > summary").first();
  if (await menu.count()) await menu.click();
};

test("no page breaks its policy or keeps somebody out, light or dark", async () => {
  const visit = await open(browser);
  const { page, context } = visit;
  await context.addCookies([{ name: "jobkit-theme", value: "light", url: site.url }]);
  const found = [];
  for (const path of paths) {
    await go(visit, path);
    await openMenu(page);
    await page.evaluate(axe.source);
    const check = async (options) => {
      const violations = await page.evaluate(async (options) => {
        const { violations } = await axe.run(options);
        return violations.flatMap(({ id, nodes }) => nodes.slice(0, 3).map((node) => [id, node.html]));
      }, { resultTypes: ["violations"], ...options });
      violations.forEach(([id, html]) => found.push(`${path}: ${id}: ${html.slice(0, 160)}`));
    };
    await check({ runOnly: LEVELS });
    await page.evaluate(() => { document.documentElement.dataset.theme = "dark"; });
    await check({ runOnly: ["color-contrast"] });
    for (const wrong of visit.wrongs.splice(0)) found.push(`${path}: ${wrong}`);
  }
  await close(visit);
  assert.deepEqual(found, []);
});

test("the list of pages has every page that a link leads to", async () => {
  const { page, context } = await open(browser);
  const shapes = new Set(paths.map(shape));
  const linked = new Set();
  for (const path of paths) {
    await page.goto(site.url + path);
    const links = await page.locator("a[href]:not([download])").evaluateAll((links) =>
      links.map((link) => link.pathname));
    links.forEach((link) => linked.add(shape(link)));
  }
  await context.close();
  assert.deepEqual([...linked].filter((link) => !shapes.has(link)), []);
});

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
  const controls = [...(panel ?? document).querySelectorAll("a, button, input, select, summary, textarea")]
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

for (const width of [360, 900, 1024]) {
  test(`every page fits into ${width} px`, async () => {
    const visit = await open(browser, { viewport: { width, height: 740 } });
    const found = [];
    for (const path of paths) {
      await go(visit, path);
      const look = async (what) => {
        for (const wrong of await visit.page.evaluate(misplaced)) found.push(`${what}: ${wrong}`);
      };
      await look(path);
      for (const menu of (await visit.page.locator("main details.menu > summary").all()).slice(0, 4)) {
        await menu.click();
        await look(`${path}, ${await menu.textContent()}`);
        await visit.page.keyboard.press("Escape");
      }
    }
    await close(visit);
    assert.deepEqual(found, []);
  });
}

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
