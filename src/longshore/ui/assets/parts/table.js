// A table that draws only the rows in sight, so ten thousand are as quick as ten.

import { icon } from "../lib/icons.js";
import { go } from "../lib/router.js";
import { h, properties, render, View } from "../lib/view.js";

const ROW_PX = 40;
const SPARE_ROWS = 8;

/**
 * @typedef {object} Column
 * @property {string} id
 * @property {string} title
 * @property {string} width                    of a CSS grid
 * @property {(row: any) => any} cell
 * @property {(row: any) => any} [sort]
 * @property {number} [rank]                   0 is always shown; the higher, the sooner a narrow page leaves it out
 * @property {boolean} [right]
 */

/** `rows`, `columns`, `idOf`, `hrefOf`, and for choosing several `chosen` (a Set of ids) and `onchoose`. */
export class Table extends View {
  start() {
    this.at = 0;
    this.tall = 0;
    this.wide = 0;
    const watch = new ResizeObserver(() => this.measure());
    watch.observe(this);
    this.scope?.signal.addEventListener("abort", () => watch.disconnect());
  }

  measure() {
    const tall = this.body?.clientHeight ?? 0;
    if (tall === this.tall && this.clientWidth === this.wide) return;
    this.tall = tall;
    this.wide = this.clientWidth;
    this.draw();
  }

  /** @returns {Column[]} */
  shown() {
    const most = (this.wide ?? 0) < 560 ? 0 : (this.wide ?? 0) < 820 ? 1 : (this.wide ?? 0) < 1080 ? 2 : 3;
    return (this.columns ?? []).filter((/** @type {Column} */ each) => (each.rank ?? 0) <= most);
  }

  view() {
    const columns = this.shown();
    const choosing = Boolean(this.onchoose);
    const rows = this.rows ?? [];
    const lines = `${choosing ? "36px " : ""}${columns.map((each) => each.width).join(" ")}`;
    this.grid = lines;
    return h("div", { class: "table", role: "table", "aria-label": this.label, "aria-rowcount": rows.length + 1, "aria-colcount": columns.length + (choosing ? 1 : 0) },
      h("div", { role: "rowgroup" },
        h("div", { class: "tr head", role: "row", "aria-rowindex": 1, style: { "grid-template-columns": lines } },
          choosing && h("span", { role: "columnheader", class: "pick" }, h("input", { type: "checkbox", "aria-label": "Choose all", checked: rows.length > 0 && this.chosen?.size >= rows.length,
            indeterminate: this.chosen?.size > 0 && this.chosen.size < rows.length, onchange: (/** @type {any} */ event) => this.onchoose(new Set(event.target.checked ? rows.map(this.idOf) : [])) })),
          columns.map((column) => this.heading(column)))),
      h("div", { class: "tbody", role: "rowgroup", tabindex: "0", "aria-label": `${this.label}, rows`, onscroll: () => this.window(), onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
        ref: (/** @type {any} */ node) => (this.body = node) },
        h("div", { class: "sizer", role: "presentation", style: { height: `${rows.length * ROW_PX}px` }, ref: (/** @type {any} */ node) => (this.sizer = node) },
          h("div", { class: "window", role: "presentation", key: "window", ref: (/** @type {any} */ node) => (this.pane = node) }, this.visible()))));
  }

  /** @param {Column} column */
  heading(column) {
    const by = this.sorting?.id === column.id ? (this.sorting.down ? "descending" : "ascending") : null;
    return h("span", { key: column.id, role: "columnheader", class: column.right ? "right" : "", "aria-sort": by },
      column.sort
        ? h("button", { type: "button", class: "sorter", onclick: () => this.onsort?.(column.id) }, column.title, by && icon(by === "descending" ? "down" : "up"))
        : column.title);
  }

  drawn() {
    // The heads stand over their columns, whether there is a scroll bar or not.
    if (this.body) this.style.setProperty("--bar", `${this.body.offsetWidth - this.body.clientWidth}px`);
    this.style.setProperty("--rows", String(this.rows?.length ?? 0));
    const tall = this.body?.clientHeight ?? 0;
    if (tall !== this.tall || this.wide !== this.clientWidth) {
      this.tall = tall;
      this.wide = this.clientWidth;
      this.draw();
    }
  }

  /** Draws the rows in sight, and nothing else. */
  window() {
    if (this.pane) render(this.pane, this.visible());
  }

  visible() {
    const rows = this.rows ?? [];
    const top = this.body?.scrollTop ?? 0;
    const first = Math.max(0, Math.floor(top / ROW_PX) - SPARE_ROWS);
    const last = Math.min(rows.length, Math.ceil((top + (this.tall || 600)) / ROW_PX) + SPARE_ROWS);
    const columns = this.shown();
    const out = [];
    for (let i = first; i < last; i++) out.push(this.row(rows[i], i, columns));
    return out;
  }

  /** @param {any} row @param {number} i @param {Column[]} columns */
  row(row, i, columns) {
    const id = this.idOf(row);
    const chosen = this.chosen?.has(id);
    return h("div", { key: id, class: `tr${chosen ? " chosen" : ""}${this.cursor === i ? " cursor" : ""}`, role: "row", "aria-rowindex": i + 2,
      style: { "grid-template-columns": this.grid, transform: `translateY(${i * ROW_PX}px)` },
      onclick: (/** @type {MouseEvent} */ event) => this.clicked(event, row) },
      this.onchoose && h("span", { role: "cell", class: "pick" }, h("input", { type: "checkbox", checked: Boolean(chosen), "aria-label": `Choose ${this.nameOf?.(row) ?? id}`, onchange: () => this.toggle(id) })),
      columns.map((column) => h("span", { key: column.id, role: "cell", class: column.right ? "right" : "" }, column.cell(row))));
  }

  /** @param {MouseEvent} event @param {any} row */
  clicked(event, row) {
    if (/** @type {HTMLElement} */ (event.target).closest("a, button, input")) return;
    if (getSelection()?.toString()) return;
    if (this.hrefOf) go(this.hrefOf(row));
  }

  /** @param {string} id */
  toggle(id) {
    const next = new Set(this.chosen);
    if (!next.delete(id)) next.add(id);
    this.onchoose(next);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const rows = this.rows ?? [];
    const page = Math.max(1, Math.floor((this.tall ?? 400) / ROW_PX) - 1);
    const steps = /** @type {Record<string, number>} */ ({ ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -rows.length, End: rows.length });
    if (event.key in steps) {
      this.cursor = Math.max(0, Math.min(rows.length - 1, (this.cursor ?? -1) + steps[event.key]));
      const top = this.cursor * ROW_PX;
      if (top < this.body.scrollTop) this.body.scrollTop = top;
      else if (top + ROW_PX > this.body.scrollTop + this.tall) this.body.scrollTop = top + ROW_PX - this.tall;
    } else if (event.key === "Enter" && rows[this.cursor] && event.target === this.body && this.hrefOf) {
      go(this.hrefOf(rows[this.cursor]));
    } else if (event.key === " " && rows[this.cursor] && event.target === this.body && this.onchoose) {
      this.toggle(this.idOf(rows[this.cursor]));
    } else {
      return;
    }
    event.preventDefault();
    this.window();
  }
}
properties(Table, "rows", "columns", "chosen", "sorting", "label");
customElements.define("ls-table", Table);
