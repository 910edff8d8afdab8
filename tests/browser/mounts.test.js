// Wherever it is mounted: pages work, and ask for nothing outside of the mount.

import assert from "node:assert/strict";
import { test } from "node:test";
import { askUntil, close, open, startBrowser, startSite } from "./browser.js";
import { allPaths } from "./paths.js";

const MOUNTS = ["/", "/jobs", "/a/b", "proxied"];
const site = await startSite(...MOUNTS);
const browser = await startBrowser();

const ATTRIBUTES = ["href", "src", "action", "hx-get", "hx-post", "hx-sse:connect"];

for (const mount of MOUNTS) {
  test(`below ${mount} nothing is asked for outside`, async () => {
    const url = site.urls[mount];
    const isInside = (address) =>
      address === url || ["/", "?", "#"].some((next) => address.startsWith(url + next));
    const visit = await open(browser);
    const { page, wrongs } = visit;
    const outside = new Set();
    const check = (address) => isInside(address) || address === "data:," || outside.add(address);
    page.on("request", (request) => check(request.url()));
    for (const path of (await allPaths(url, page)).filter((path) => path !== "/nothing/here")) {
      assert.equal((await page.goto(url + path)).status(), 200, path);
      const addresses = await page.evaluate((names) => names.flatMap((name) =>
        [...document.querySelectorAll(`[${CSS.escape(name)}]`)].map((one) =>
          new URL(one.getAttribute(name), document.baseURI).href)), ATTRIBUTES);
      assert(addresses.length > 15, `${path} has ${addresses.length} addresses`);
      addresses.forEach(check);
    }
    assert.deepEqual([...outside], []);

    // An action, its cookie and its redirect.
    await page.goto(`${url}/queues`);
    await page.locator(".live.on").waitFor();
    const row = page.locator("tr", { hasText: "exports" });
    await row.getByRole("button", { name: "Resume" }).click();
    await page.locator(".flash", { hasText: "exports is resumed" }).waitFor();
    await page.getByText("Pause another…").click();
    await page.getByLabel("Queue (need not exist yet)").fill("exports");
    await page.locator(".panel button.primary:visible").click();
    await page.locator(".flash", { hasText: "exports is paused" }).waitFor();
    await askUntil(url, "queues", ({ items }) =>
      items.some(({ queue, paused }) => queue === "exports" && paused));
    await page.locator("[data-theme-button]").click();
    await page.locator("html[data-theme=light]").waitFor();
    const prefix = new URL(url).pathname;
    for (const cookie of await visit.context.cookies()) {
      assert(cookie.path.startsWith(prefix) || prefix === "/", `${cookie.name} of ${cookie.path}`);
    }
    assert.deepEqual([...outside], []);
    assert.deepEqual(wrongs, []);
    await close(visit);
  });
}
