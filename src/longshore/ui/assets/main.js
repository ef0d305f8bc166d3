// The frame of every page: navigation, namespace, search, connection, colours, log-out; and which page is shown.

import { request, post } from "./lib/api.js";
import { icon } from "./lib/icons.js";
import { KINDS } from "./lib/kinds.js";
import { connection, live } from "./lib/live.js";
import { prefer } from "./lib/preferences.js";
import { go, here, router, setQuery } from "./lib/router.js";
import { h, View } from "./lib/view.js";
import { openPalette } from "./parts/palette.js";

const PLACES = [
  ["", "overview", "Overview"],
  ["jobs", "jobs", "Jobs"],
  ["cronjobs", "cronjobs", "CronJobs"],
  ["gangs", "gangs", "Gangs"],
  ["jobflows", "jobflows", "JobFlows"],
  ["pods", "pods", "Pods"],
  ["queues", "queues", "Queues"],
  ["history", "history", "History"],
  ["timeline", "timeline", "Timeline"],
];

/** The module and the element of each page; a function, so that a page is fetched when it is first shown.
 *  @type {Record<string, [() => Promise<any>, string]>} */
const PAGES = {
  overview: [() => import("./pages/overview.js"), "ls-overview"],
  list: [() => import("./pages/list.js"), "ls-list"],
  jobs: [() => import("./pages/job.js"), "ls-job"],
  cronjobs: [() => import("./pages/cronjob.js"), "ls-cronjob"],
  gangs: [() => import("./pages/gang.js"), "ls-gang"],
  pods: [() => import("./pages/pod.js"), "ls-pod"],
  queues: [() => import("./pages/queue.js"), "ls-queue"],
  jobflows: [() => import("./pages/jobflow.js"), "ls-jobflow"],
  history: [() => import("./pages/history.js"), "ls-history"],
  timeline: [() => import("./pages/timeline.js"), "ls-timeline"],
};

/** @returns {[string, string]} the page, and what makes another element of it necessary */
function pageOf() {
  const { parts } = here();
  const [first, ...rest] = parts;
  if (!first) return ["overview", "overview"];
  if (first === "history" || first === "timeline") return [first, first];
  const kind = KINDS[first];
  if (!kind || !(first in PAGES)) return ["missing", "missing"];
  const named = rest.length === (kind.namespaced ? 2 : 1);
  return named ? [first, parts.join("/")] : rest.length ? ["missing", "missing"] : ["list", `list ${first}`];
}

class App extends View {
  start() {
    const { signal } = /** @type {AbortController} */ (this.scope);
    this.namespaces = live(this, KINDS.namespaces);
    this.user = "";
    this.signedOut = false;
    this.loaded = new Set();
    this.problem = "";
    router.addEventListener("change", () => this.moved(), { signal });
    connection.addEventListener("change", () => this.draw(), { signal });
    addEventListener("longshore:signed-out", () => ((this.signedOut = true), this.draw()), { signal });
    addEventListener("keydown", (event) => this.key(event), { signal });
    this.whoAmI();
    this.moved();
  }

  async whoAmI() {
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
    try {
      const review = await post("/apis/authentication.k8s.io/v1/selfsubjectreviews", body);
      this.user = review.status.userInfo.username;
      this.draw();
    } catch {
      // The lists say what is wrong.
    }
  }

  async moved() {
    const [page] = pageOf();
    this.draw();
    if (page === "missing" || this.loaded.has(page)) return;
    try {
      await PAGES[page][0]();
      this.loaded.add(page);
      this.problem = "";
    } catch {
      this.problem = "This page could not be loaded. longshore may have been updated: load the page anew.";
    }
    this.draw();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const at = /** @type {HTMLElement} */ (event.target);
    const typing = at.closest?.("input, textarea, select, [contenteditable], ls-terminal");
    if ((event.key === "k" && (event.ctrlKey || event.metaKey)) || (event.key === "/" && !typing)) {
      event.preventDefault();
      openPalette();
    }
  }

  view() {
    const [page, key] = pageOf();
    const first = here().parts[0] ?? "";
    return [
      h("header", { class: "top" },
        h("a", { class: "brand", href: "/ui/", "aria-label": "longshore, overview" }, mark(), h("span", null, "longshore")),
        this.namespace(),
        h("button", { class: "search", type: "button", "aria-label": "Search", onclick: () => openPalette() },
          icon("search"), h("span", null, "Search"), h("kbd", null, "/")),
        h("span", { class: "spacer" }),
        this.status(),
        this.theme(),
        h("span", { class: "user", title: this.user }, icon("user"), h("span", null, shortUser(this.user))),
        h("button", { class: "quiet", type: "button", title: "Log out", "aria-label": "Log out", onclick: logOut }, icon("logout")),
      ),
      h("nav", { class: "places", "aria-label": "Pages" },
        PLACES.map(([path, sign, title]) =>
          h("a", { key: path, href: `/ui/${path}${nsQuery()}`, "aria-current": first === path ? "page" : null }, icon(sign), h("span", null, title)))),
      h("main", { id: "main", tabindex: "-1" },
        this.signedOut && h("div", { class: "notice failed", role: "alert" },
          icon("alert"), h("p", null, "You are logged out. Run ", h("code", null, "longshore ui"), " for a new link.")),
        this.problem && h("div", { class: "notice failed", role: "alert" }, icon("alert"), h("p", null, this.problem)),
        page === "missing"
          ? h("div", { class: "empty" }, h("h1", null, "There is no such page"), h("a", { href: "/ui/" }, "Go to the overview"))
          : this.loaded?.has(page) && h(PAGES[page][1], { key })),
      h("div", { id: "said", role: "status", "aria-live": "polite", class: "toasts", key: "toasts" }),
    ];
  }

  namespace() {
    const chosen = here().query.get("ns") ?? "";
    const names = (this.namespaces?.all ?? []).map((/** @type {any} */ each) => each.metadata.name).sort();
    if (chosen && !names.includes(chosen)) names.push(chosen);
    return h("label", { class: "namespace" },
      h("span", { class: "sr" }, "Namespace"),
      h("select", { value: chosen, onchange: (/** @type {any} */ event) => setQuery({ ns: event.target.value }, {}) },
        h("option", { value: "", selected: !chosen }, "all namespaces"),
        names.map((name) => h("option", { key: name, value: name, selected: name === chosen }, name))));
  }

  status() {
    const lost = connection.lost > 0;
    return h("span", { class: `link-state ${lost ? "waiting" : "done"}`, role: "status" },
      h("span", { class: "dot" }), h("span", null, lost ? "reconnecting …" : "live"));
  }

  theme() {
    const dark = document.documentElement.dataset.theme === "dark";
    const title = dark ? "Light colours" : "Dark colours";
    return h("button", { class: "quiet", type: "button", title, "aria-label": title, onclick: () => {
      prefer("theme", dark ? "light" : "dark");
      dispatchEvent(new Event("longshore:theme"));
      this.draw();
    } }, icon(dark ? "sun" : "moon"));
  }
}

/** Keeps the namespace when the page changes. */
export function nsQuery() {
  const ns = here().query.get("ns");
  return ns ? `?ns=${encodeURIComponent(ns)}` : "";
}

/** @param {string} name */
const shortUser = (name) => name.replace(/^system:serviceaccount:/, "");

const mark = () =>
  h("svg", { viewBox: "0 0 32 32", width: 26, height: 26, "aria-hidden": "true" },
    h("rect", { width: 32, height: 32, rx: 7, fill: "#0b5cad" }),
    h("path", { d: "M7 10h18M7 16h12M7 22h15", stroke: "#fff", "stroke-width": 3.4, "stroke-linecap": "round" }),
    h("circle", { cx: 24.6, cy: 16, r: 1.9, fill: "#ffb454" }));

async function logOut() {
  try {
    await request("POST", "/ui/logout", { body: {} });
  } finally {
    location.assign("/ui/");
  }
}

customElements.define("ls-app", App);
if (location.pathname === "/ui") go("/ui/", { replace: true });
