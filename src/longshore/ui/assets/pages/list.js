// A list of one kind: filtered as you type, sorted, several chosen at once.

import { counted } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { KINDS, pageOf } from "../lib/kinds.js";
import { live } from "../lib/live.js";
import { rights } from "../lib/rights.js";
import { here, router, setQuery } from "../lib/router.js";
import { STATE_OF } from "../lib/states.js";
import { h, View } from "../lib/view.js";
import { actionsFor, perform } from "../parts/actions.js";
import "../parts/table.js";
import { COLUMNS, STATES } from "./columns.js";

class List extends View {
  start() {
    this.word = here().parts[0];
    this.kind = KINDS[this.word];
    this.columns = COLUMNS[this.word];
    this.chosen = new Set();
    document.title = `${this.kind.many} · longshore`;
    const { signal } = /** @type {AbortController} */ (this.scope);
    router.addEventListener("change", () => this.moved(), { signal });
    rights.addEventListener("change", () => this.draw(), { signal });
    this.moved();
    this.every(5000);
  }

  moved() {
    const { parts, query } = here();
    if (parts[0] !== this.word || parts.length > 1) return;
    const namespace = query.get("ns") ?? "";
    if (namespace !== this.namespace || !this.list) {
      this.namespace = namespace;
      this.watching?.abort();
      this.watching = new AbortController();
      this.scope?.signal.addEventListener("abort", () => this.watching.abort());
      this.list = live({ scope: this.watching, draw: () => this.draw() }, this.kind, { namespace });
    }
    this.draw();
  }

  /** The rows that are wanted, in order. */
  rows() {
    const { query } = here();
    const words = (query.get("q") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const state = query.get("state") ?? "";
    const sort = query.get("sort") ?? "-age";
    const id = `${this.list?.changes} ${words} ${state} ${sort}`;
    if (id === this.rowsAt) return this.found;
    const down = sort.startsWith("-");
    const column = this.columns.find((/** @type {any} */ each) => each.id === sort.replace(/^-/, "")) ?? this.columns[0];
    const stateOf = STATE_OF[this.word];
    let rows = this.list?.all ?? [];
    if (words.length || state) {
      rows = rows.filter((/** @type {any} */ row) => (!state || stateOf(row).word === state) && words.every((/** @type {string} */ word) => matches(row, word)));
    }
    const keyed = rows.map((/** @type {any} */ row) => ({ row, by: column.sort(row) }));
    keyed.sort((/** @type {any} */ a, /** @type {any} */ b) => (a.by < b.by ? -1 : a.by > b.by ? 1 : a.row.metadata.name < b.row.metadata.name ? -1 : 1));
    if (down) keyed.reverse();
    this.rowsAt = id;
    this.found = keyed.map((/** @type {any} */ each) => each.row);
    return this.found;
  }

  view() {
    const { query } = here();
    const rows = this.rows();
    const all = this.list?.all.length ?? 0;
    const sort = query.get("sort") ?? "-age";
    const filtered = query.get("q") || query.get("state");
    return h("section", { class: "list-page", "aria-labelledby": "title" },
      h("div", { class: "page-head" },
        h("h1", { id: "title" }, this.kind.many),
        h("span", { class: "count", role: "status" }, !this.list?.ready ? "loading …" : rows.length === all ? counted(all, "in all", "in all") : `${counted(rows.length, "of", "of")} ${all}`),
        h("span", { class: "spacer" }),
        h("input", { type: "search", class: "input filter", placeholder: "Filter by name or label=value", "aria-label": `Filter ${this.kind.many}`, value: query.get("q") ?? "",
          oninput: (/** @type {any} */ event) => setQuery({ q: event.target.value }) })),
      h("div", { class: "chips", role: "group", "aria-label": "State" },
        ["", ...(STATES[this.word] ?? [])].map((state) => h("button", { key: state, type: "button", class: "chip", "aria-pressed": String((query.get("state") ?? "") === state), onclick: () => setQuery({ state }) }, state || "all"))),
      this.chosen.size > 0 && this.chosenBar(),
      this.list?.problem
        ? h("div", { class: "notice failed" }, icon("alert"), h("p", null, this.list.problem.message))
        : this.list?.ready && !rows.length
          ? h("div", { class: "empty" }, icon(this.word), h("p", null, filtered ? "Nothing fits this filter." : `There are no ${this.kind.many} here.`))
          : h("ls-table", { class: "panel", ".label": this.kind.many, ".rows": rows, ".columns": this.columns, ".idOf": idOf, ".nameOf": nameOf, ".hrefOf": (/** @type {any} */ row) => pageOf(this.word, row),
            ".chosen": this.chosen, ".onchoose": actionsFor(this.word, null).length ? (/** @type {Set<string>} */ chosen) => ((this.chosen = chosen), this.draw()) : null,
            ".sorting": { id: sort.replace(/^-/, ""), down: sort.startsWith("-"), key: sort }, ".onsort": (/** @type {string} */ id) => setQuery({ sort: sort === id ? `-${id}` : id }) }));
  }

  drawn() {
    // The ages in sight grow older, although no row has changed.
    /** @type {any} */ (this.querySelector("ls-table"))?.window?.();
  }

  chosenBar() {
    const objects = (this.list?.all ?? []).filter((/** @type {any} */ each) => this.chosen.has(each.metadata.uid));
    return h("div", { class: "chosen-bar", role: "region", "aria-label": "Chosen" },
      h("span", null, counted(objects.length, "chosen", "chosen")),
      actionsFor(this.word, objects).map((action) => h("button", { key: action.id, type: "button", class: `button small${action.danger ? " danger" : ""}`,
        onclick: async () => { if (await perform(this.word, action, objects)) { this.chosen = new Set(); this.draw(); } } }, icon(action.icon), action.title)),
      h("span", { class: "spacer" }),
      h("button", { type: "button", class: "button small quiet", onclick: () => { this.chosen = new Set(); this.draw(); } }, "Clear"));
  }
}

/** @param {any} row */
const idOf = (row) => row.metadata.uid;
/** @param {any} row */
const nameOf = (row) => row.metadata.name;

/** @param {any} row @param {string} word */
function matches(row, word) {
  const { name, namespace, labels } = row.metadata;
  const [key, value] = word.split("=");
  if (value !== undefined) return Object.entries(labels ?? {}).some(([label, each]) => label.toLowerCase() === key && String(each).toLowerCase().startsWith(value));
  return name.includes(word) || Boolean(namespace?.includes(word));
}

customElements.define("ls-list", List);
