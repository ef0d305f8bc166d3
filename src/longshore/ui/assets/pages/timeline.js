// A timeline from a file, such as that of a simulation. The file stays in the browser.

import { counted, full, span } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { h, View } from "../lib/view.js";
import "../parts/gantt.js";
import { facts, panel } from "../parts/object_page.js";

const STATES = new Set(["waiting", "running", "done", "failed", "backoff", "held", "none"]);

class TimelinePage extends View {
  start() {
    document.title = "Timeline · longshore";
    this.problem = "";
  }

  /** @param {File | undefined} file */
  async open(file) {
    if (!file) return;
    try {
      this.timeline = read(await file.text());
      this.problem = "";
    } catch (error) {
      this.problem = `${file.name} is no timeline: ${error instanceof Error ? error.message : error}`;
    }
    this.draw();
  }

  view() {
    const { timeline } = this;
    return h("section", { class: "list-page", "aria-labelledby": "title", ondragover: (/** @type {DragEvent} */ event) => event.preventDefault(), ondrop: (/** @type {DragEvent} */ event) => { event.preventDefault(); this.open(event.dataTransfer?.files[0]); } },
      h("div", { class: "page-head" }, h("h1", { id: "title" }, timeline?.title || "Timeline"), h("span", { class: "spacer" }),
        h("label", { class: "button" }, icon("timeline"), "Open a file", h("input", { type: "file", class: "sr", accept: ".json,application/json", onchange: (/** @type {any} */ event) => this.open(event.target.files[0]) }))),
      this.problem && h("div", { class: "notice failed", role: "alert" }, icon("alert"), h("p", null, this.problem)),
      timeline
        ? [panel("What it shows", facts([["Rows", counted(timeline.rows.length, "row")], ["From", full(timeline.start)], ["To", full(timeline.end)], ["Span", span(timeline.end - timeline.start)]])), h("section", { class: "panel", key: "gantt" }, h("ls-gantt", { ".timeline": timeline }))]
        : h("div", { class: "empty" }, icon("timeline"), h("p", null, "Open a timeline, or drop its file here: for example that of a simulation. It is read by your browser alone.")));
  }
}

/** Checks a file, and names what is wrong with it. @param {string} text @returns {import("../parts/gantt.js").Timeline} */
export function read(text) {
  const found = JSON.parse(text);
  if (!Array.isArray(found.rows)) throw new Error("it has no list \"rows\"");
  let [least, most] = [Infinity, -Infinity];
  /** @param {any[]} rows @param {string} where */
  const all = (rows, where) => rows.map((/** @type {any} */ row, /** @type {number} */ i) => {
    const own = `${where}[${i}]`;
    if (typeof row.name !== "string" || !Array.isArray(row.bars)) throw new Error(`${own} needs a "name" and "bars"`);
    const bars = row.bars.map((/** @type {any} */ bar, /** @type {number} */ j) => {
      const [from, to] = [time(bar.from), bar.to === null || bar.to === undefined ? null : time(bar.to)];
      if (!Number.isFinite(from) || (to !== null && !(to >= from))) throw new Error(`${own}.bars[${j}] needs "from" and "to" in order`);
      if (!STATES.has(bar.state)) throw new Error(`${own}.bars[${j}].state ${JSON.stringify(bar.state)} is none of ${[...STATES].join(", ")}`);
      least = Math.min(least, from);
      most = Math.max(most, to ?? from);
      return { from, to, state: bar.state, label: bar.label, detail: bar.detail };
    });
    const use = row.use && { from: time(row.use.from), to: time(row.use.to), shares: row.use.shares };
    if (use && !(use.to > use.from && Array.isArray(use.shares))) throw new Error(`${own}.use needs "from" and "to" in order, and "shares"`);
    if (row.cells && !texts(row.cells)) throw new Error(`${own}.cells is no list of texts`);
    if (row.rows && !Array.isArray(row.rows)) throw new Error(`${own}.rows is no list`);
    const name = row.group ? `${row.group} ${row.name}` : row.name;
    return { name, bars, use, cells: row.cells, rows: row.rows && all(row.rows, `${own}.rows`), open: row.open };
  });
  if (found.columns && !texts(found.columns)) throw new Error("\"columns\" is no list of texts");
  const rows = all(found.rows, "rows");
  const start = found.start === undefined ? least : time(found.start);
  const end = found.end === undefined ? most : time(found.end);
  if (!(end >= start)) throw new Error("\"end\" is before \"start\"");
  return { title: String(found.title ?? ""), start, end, columns: found.columns, rows };
}

/** @param {any} value */
const texts = (value) => Array.isArray(value) && value.every((each) => typeof each === "string");

/** Seconds since 1970 of a number or an RFC 3339 text. @param {any} value */
const time = (value) => (typeof value === "number" ? value : Date.parse(value) / 1000);

customElements.define("ls-timeline", TimelinePage);
