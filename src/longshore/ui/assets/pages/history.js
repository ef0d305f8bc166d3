// Jobs that have ended, also those that are gone: what happened last night.

import { get } from "../lib/api.js";
import { ago, counted, full, number, seconds, span } from "../lib/format.js";
import { badge, icon } from "../lib/icons.js";
import { ownPath, pageAt } from "../lib/kinds.js";
import { here, router, setQuery } from "../lib/router.js";
import { resultState } from "../lib/states.js";
import { h, View } from "../lib/view.js";
import "../parts/table.js";

const AGAIN_MS = 5000;

/** @type {import("../parts/table.js").Column[]} */
const COLUMNS = [
  { id: "job", title: "Job", width: "minmax(9rem, 1.6fr)", cell: (row) => h("a", { class: "strong", href: pageAt("jobs", row.metadata.namespace, row.job) }, row.job), sort: (row) => row.job },
  { id: "namespace", title: "Namespace", width: "minmax(5rem, 0.7fr)", rank: 3, cell: (row) => row.metadata.namespace, sort: (row) => row.metadata.namespace },
  { id: "result", title: "Result", width: "7.500rem", cell: (row) => badge(resultState(row.result)), sort: (row) => row.result },
  { id: "counts", title: "Done", width: "6rem", rank: 1, right: true, cell: (row) => `${number(row.succeeded)}${row.completions !== undefined ? ` / ${number(row.completions)}` : ""}`, sort: (row) => row.succeeded },
  { id: "failure", title: "Last failure", width: "minmax(9rem, 2fr)", rank: 2, cell: (row) => h("span", { title: row.lastFailure || row.message }, row.lastFailure || row.message || ""), sort: (row) => row.lastFailure ?? "" },
  { id: "took", title: "Took", width: "6rem", rank: 1, right: true, cell: (row) => (row.startTime ? span(seconds(row.endTime) - seconds(row.startTime)) : ""), sort: (row) => seconds(row.endTime) - seconds(row.startTime) || 0 },
  { id: "ended", title: "Ended", width: "6.500rem", right: true, cell: (row) => h("time", { title: full(row.endTime) }, ago(row.endTime)), sort: (row) => row.endTime },
];

class History extends View {
  start() {
    document.title = "History · longshore";
    /** @type {any[]} */
    this.items = [];
    router.addEventListener("change", () => this.load(), { signal: this.scope?.signal });
    this.every(AGAIN_MS, () => this.load());
    this.load();
  }

  async load() {
    try {
      this.items = (await get(ownPath("finishedjobs", here().query.get("ns") ?? ""), {}, this.scope?.signal)).items;
      this.problem = "";
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
    }
    this.ready = true;
    this.draw();
  }

  view() {
    const { query } = here();
    const words = (query.get("q") ?? "").toLowerCase();
    const result = query.get("result") ?? "";
    const sort = query.get("sort") ?? "-ended";
    const column = COLUMNS.find((each) => each.id === sort.replace(/^-/, "")) ?? COLUMNS[0];
    const rows = this.items.filter((each) => (!result || each.result === result) && (!words || `${each.job} ${each.owner ?? ""} ${each.lastFailure ?? ""}`.toLowerCase().includes(words)));
    rows.sort((a, b) => { const [x, y] = [column.sort?.(a), column.sort?.(b)]; return x < y ? -1 : x > y ? 1 : 0; });
    if (sort.startsWith("-")) rows.reverse();
    return h("section", { class: "list-page", "aria-labelledby": "title" },
      h("div", { class: "page-head" }, h("h1", { id: "title" }, "History"), h("span", { class: "count", role: "status" }, this.ready ? counted(rows.length, "Job that ended", "Jobs that ended") : "loading …"), h("span", { class: "spacer" }),
        h("input", { type: "search", class: "input filter", placeholder: "Filter by name or failure", "aria-label": "Filter the history", value: query.get("q") ?? "", oninput: (/** @type {any} */ event) => setQuery({ q: event.target.value }) })),
      h("div", { class: "chips", role: "group", "aria-label": "Result" }, ["", "complete", "failed", "deleted"].map((each) => h("button", { key: each, type: "button", class: "chip", "aria-pressed": String(result === each), onclick: () => setQuery({ result: each }) }, each || "all"))),
      this.problem ? h("div", { class: "notice failed" }, icon("alert"), h("p", null, this.problem))
        : this.ready && !rows.length ? h("div", { class: "empty" }, icon("history"), h("p", null, "No Job that ended is remembered here."))
          : h("ls-table", { class: "panel", ".label": "History", ".rows": rows, ".columns": COLUMNS, ".idOf": (/** @type {any} */ row) => row.metadata.uid, ".sorting": { id: column.id, down: sort.startsWith("-"), key: sort }, ".onsort": (/** @type {string} */ id) => setQuery({ sort: sort === id ? `-${id}` : id }) }));
  }
}

customElements.define("ls-history", History);
