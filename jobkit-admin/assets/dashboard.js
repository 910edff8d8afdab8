// What the pages do beyond links and forms: ages that grow, live pages, copying, shortcuts.
// Everything else works without this file.
(() => {
  "use strict";
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const page = () => document.getElementById("page");

  // Ages: "3 min ago".
  const units = [[172800, 86400, "d"], [6000, 3600, "h"], [100, 60, "min"], [0, 1, "s"]];
  const age = (time) => {
    const seconds = (Date.now() - new Date(time.dateTime)) / 1000;
    const far = Math.abs(seconds);
    if (far < 1.5) return "now";
    const [, size, unit] = units.find(([from]) => far >= from);
    const span = `${Math.floor(far / size)} ${unit}`;
    return seconds < 0 ? `in ${span}` : `${span} ago`;
  };
  const local = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
  const tick = () => {
    if (stale) say();
    for (const time of all("time[data-ago]")) {
      time.textContent = age(time);
      time.title = `${local.format(new Date(time.dateTime))}\n${time.dateTime}`;
    }
  };

  // Live pages: the server says that something changed, and the page reloads itself. Not while
  // somebody works in it, nor while an action is in progress, whose answer is the new page.
  const typing = (element) =>
    element.matches("input:not([type=checkbox]), textarea, select, [contenteditable]");
  const BUSY = "#page details.menu[open], #page input[name=row]:checked, #page form.htmx-request, " +
    "dialog[open]";
  const busy = () =>
    document.hidden || all(BUSY).length > 0 ||
    page()?.contains(document.activeElement) && typing(document.activeElement);
  // Unknown until the server has answered.
  let connected = null;
  // Seconds; 0 is never. 5 means to listen to the server.
  const light = () => document.querySelector(".live");
  const every = () => Number(light()?.dataset.refresh) || 0;
  const told = () => every() === 5;
  const refresh = () => {
    if (!busy()) page()?.dispatchEvent(new Event("refresh"));
  };
  // When the page was read, and whether the last refresh failed, so that the page is stale and
  // must say so.
  let read = Date.now();
  let stale = false;
  const since = () => {
    const seconds = Math.round((Date.now() - read) / 1000);
    return seconds < 100 ? `${seconds} s` : `${Math.floor(seconds / 60)} min`;
  };
  const fresh = (yes) => {
    stale = !yes;
    if (yes) read = Date.now();
    document.documentElement.toggleAttribute("data-stale", stale);
    say();
  };
  const label = () => {
    if (stale) return `Stale: ${since()} old`;
    if (all("#page input[name=row]:checked").length > 0) return "Paused";
    if (connected) return "Live";
    if (connected === null && told()) return light()?.textContent;
    return every() ? `Every ${told() ? 15 : every()} s` : "Off";
  };
  const say = () => {
    const text = label();
    light()?.classList.toggle("on", text === "Live");
    light()?.classList.toggle("stale", stale);
    const named = document.title.replace(/^Stale: /, "");
    const title = stale ? `Stale: ${named}` : named;
    if (document.title !== title) document.title = title;
    light()?.classList.toggle("paused", text === "Paused");
    if (light() && light().textContent !== text) light().textContent = text;
  };
  const live = (on) => {
    connected = on;
    say();
  };
  document.addEventListener("jobkit", refresh);
  document.addEventListener("htmx:sse:after:connection", () => live(true));
  for (const end of ["error", "close"]) {
    document.addEventListener(`htmx:sse:${end}`, () => live(false));
  }
  // The request for the stream failed, or a refresh did, unless it was aborted in favour of
  // another.
  document.addEventListener("htmx:finally:request", (event) => {
    if (connected === null && event.target.matches?.(".live")) live(false);
    const ctx = event.detail?.ctx;
    if (event.target.id !== "page" || ctx?.request?.signal?.aborted) return;
    if (ctx?.response?.raw?.ok !== true) fresh(false);
  });
  const ask = () => connected || !every() || refresh();
  setInterval(() => told() && ask(), 15000);
  setInterval(() => told() || ask(), 30000);
  document.addEventListener("visibilitychange", () => document.hidden || !every() || refresh());

  // After a swap, an old banner is out of date.
  document.addEventListener("htmx:after:swap", (event) => {
    const target = event.detail?.ctx?.target;
    if (target?.id === "page") {
      document.getElementById("banner").replaceChildren();
      fresh(true);
    }
    dress();
  });
  document.addEventListener("submit", (event) => {
    event.target.closest("details.menu")?.removeAttribute("open");
    // An older refresh must not arrive after the answer.
    page()?.dispatchEvent(new Event("htmx:abort"));
  });

  // Menus close with a click elsewhere and with Escape.
  const close = (but) => all("details.menu[open]").forEach((menu) => menu === but || (menu.open = false));
  document.addEventListener("click", (event) => close(event.target.closest("details.menu")));

  // Copying, on plain HTTP too.
  const copy = async (text) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    await copy(document.getElementById(button.dataset.copy).textContent);
    const label = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = label; }, 1500);
  });

  // Selected rows: their number, and the box that selects all.
  const count = () => {
    const rows = all("#page input[name=row]");
    const picked = rows.filter((row) => row.checked).length;
    const said = document.querySelector("#chosen output");
    const text = `${picked} selected`;
    if (said && said.textContent !== text) said.textContent = text;
    for (const box of all("input[data-all]")) {
      box.hidden = false;
      box.checked = picked > 0 && picked === rows.length;
      box.indeterminate = picked > 0 && picked < rows.length;
    }
    say();
  };
  document.addEventListener("change", (event) => {
    if (event.target.matches("input[data-all]")) {
      for (const row of all("#page input[name=row]")) row.checked = event.target.checked;
    }
    count();
  });
  document.addEventListener("reset", () => setTimeout(count));

  // Suggestions complete the last word of a search; the words before it stay.
  document.addEventListener("input", (event) => {
    const box = event.target;
    if (!box.list) return;
    const head = box.value.replace(/\S*$/, "");
    for (const option of box.list.options) {
      option.dataset.word ??= option.value;
      option.value = head + option.dataset.word;
    }
  });

  // Shortcuts; one switch turns them off.
  const off = () => localStorage.getItem("jobkit-shortcuts") === "off";
  let leading = 0;
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      // The focus moves from the menu to its button.
      event.target.closest?.("details.menu[open]")?.querySelector("summary").focus();
      return close();
    }
    if (off() || typing(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    const led = Date.now() - leading < 1200;
    leading = event.key === "g" ? Date.now() : 0;
    if (led) return document.querySelector(`a[data-key="${CSS.escape(event.key)}"]`)?.click();
    if (event.key === "/") {
      const search = document.querySelector("input[type=search]");
      if (search) event.preventDefault();
      search?.focus();
    } else if (event.key === "t") {
      document.querySelector("[data-theme-button]")?.click();
    } else if (event.key === "?") {
      document.getElementById("keys")?.showModal();
    } else if (event.key === "r") {
      refresh();
    } else if (event.key === "x") {
      document.activeElement.closest("#page tr")?.querySelector("input[name=row]")?.click();
    } else if (event.key === "j" || event.key === "k") {
      const links = all("#page tbody a[data-row]");
      const row = document.activeElement.closest("#page tbody tr");
      const at = links.findIndex((link) => row?.contains(link));
      links[at < 0 ? 0 : at + (event.key === "j" ? 1 : -1)]?.focus();
    }
  });
  document.addEventListener("change", (event) => {
    if (event.target.id === "shortcuts") {
      localStorage.setItem("jobkit-shortcuts", event.target.checked ? "on" : "off");
    }
  });

  // Prepares the page for scripts, at the start and after every swap.
  const dress = () => {
    for (const button of all("[data-copy]")) button.hidden = false;
    tick();
    count();
  };
  const start = () => {
    const box = document.getElementById("shortcuts");
    if (box) box.checked = !off();
    dress();
    setInterval(tick, 1000);
  };
  document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", start) : start();
})();
