// A site full of jobs, a browser to look at it with, and an eye for all that goes wrong there.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { accessSync, constants, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const BROWSERS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

const executable = (path) => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

const installed = () => {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  const folders = (process.env.PATH ?? "/usr/bin:/bin").split(delimiter);
  return BROWSERS.flatMap((name) => folders.map((folder) => join(folder, name))).find(executable);
};

/** Built already, or else built by cargo. */
const command = () => {
  if (process.env.BROWSER_SITE) return [process.env.BROWSER_SITE];
  return ["cargo", "run", "--quiet", "--package", "jobkit-tests", "--bin", "browser-site", "--"];
};

/** Starts dashboards at these mounts; `urls` has the address of each. They end with the tests. */
export const startSite = async (...mounts) => {
  const [program, ...args] = command();
  const stdio = ["pipe", "pipe", "inherit"];
  const site = spawn(program, [...args, ...mounts], { cwd: ROOT, stdio });
  const lines = createInterface({ input: site.stdout })[Symbol.asyncIterator]();
  const until = async (last) => {
    const said = [];
    for (;;) {
      const { value, done } = await lines.next();
      assert(!done, `the site ended before it said “${last}”`);
      if (value === last) return said;
      said.push(value);
    }
  };
  after(() => new Promise((ended) => site.once("exit", ended) && site.stdin.end()));
  const urls = Object.fromEntries((await until("ready")).map((line) => line.split(" ")));
  const order = async (what) => {
    site.stdin.write(`${what}\n`);
    await until(`done ${what}`);
  };
  return { urls, url: urls[mounts[0]], order };
};

/** Starts a browser; it ends with the tests. */
export const startBrowser = async () => {
  const home = mkdtempSync(join(tmpdir(), "jobkit-browser-"));
  const browser = await chromium.launch({
    executablePath: installed(),
    env: { ...process.env, HOME: home },
  });
  after(async () => {
    await browser.close();
    rmSync(home, { recursive: true, force: true });
  });
  return browser;
};

/** Collects what a page should never have: violations of its policy, errors, failed requests. */
export const watch = async (page) => {
  const wrongs = [];
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => {
      console.error(`policy: ${event.violatedDirective} forbids ${event.blockedURI}`);
    });
  });
  page.on("console", (said) => {
    if (["error", "warning"].includes(said.type())) wrongs.push(said.text());
  });
  page.on("pageerror", (error) => wrongs.push(`uncaught: ${error.message}`));
  page.on("requestfailed", (request) => {
    const why = request.failure()?.errorText;
    // A stream or a refresh ends with its page.
    if (why !== "net::ERR_ABORTED") wrongs.push(`${request.url()}: ${why}`);
  });
  return wrongs;
};

/** A page in a context of its own, watched; `wrongs` is checked by {@link close}. */
export const open = async (browser, options = {}) => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  const wrongs = await watch(page);
  return { context, page, wrongs };
};

/** Ends a visit, in which nothing else may have gone wrong. */
export const close = async ({ context, wrongs }, expected = []) => {
  await context.close();
  assert.deepEqual(wrongs, expected);
};

/** Asks the JSON API. */
export const ask = async (url, path) => {
  const response = await fetch(`${url}/api/v1/${path}`);
  assert.equal(response.status, 200, path);
  return response.json();
};

/** Waits for something, and returns it; `said` says what is there instead. */
export const until = async (find, said) => {
  for (const end = Date.now() + 15_000; ; ) {
    const found = await find();
    if (found) return found;
    assert(Date.now() < end, said());
    await new Promise((passed) => setTimeout(passed, 100));
  }
};

/** Asks until the answer is as it should be. */
export const askUntil = async (url, path, holds) => {
  let answer;
  const find = async () => {
    answer = await ask(url, path);
    return holds(answer) && answer;
  };
  return until(find, () => `${path} is still ${JSON.stringify(answer).slice(0, 500)}`);
};
