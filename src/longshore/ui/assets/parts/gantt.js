// A timeline: rows of bars over time, as docs/reference/ui.md writes it down, beside a table. Draws only the rows in sight.
//
// Ctrl and the wheel, or the buttons, zoom; dragging and the arrow keys move; the pointer tells what a bar is; a click on
// a row unfolds the rows inside it. With the attribute `fills` it is as tall as its place on the page.

import { ahead, clock, full, span } from "../lib/format.js";
import { colour, fit, onLook } from "../lib/paint.js";
import { h, properties, View } from "../lib/view.js";

const ROW_PX = 22;
const HEAD_PX = 24;
const MAX_PX = 520;
const STEP_PX = 14;
const LETTER_PX = 7;
const TABLE_PX = 900;
const COLUMN_PX = 40;
const MAX_LETTERS = 26;
const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800, 2592000];
const FILLS = /** @type {Record<string, string>} */ ({ running: "fill-running", done: "fill-done", failed: "fill-failed", waiting: "fill-waiting", backoff: "fill-held", held: "fill-held", none: "fill-none" });

/** @typedef {{from: number, to: number | null, state: string, label?: string, detail?: string}} Bar  seconds; `to` null means it goes on */
/** @typedef {{from: number, to: number, shares: number[]}} Use  means of equal slices of a time */
/** @typedef {{name: string, bars: Bar[], use?: Use, cells?: string[], rows?: Row[], open?: boolean}} Row */
/** @typedef {{title?: string, start: number, end: number, columns?: string[], rows: Row[]}} Timeline */
/** @typedef {{row: Row, depth: number, path: string}} Lane  a row that is not folded away */

class Gantt extends View {
  start() {
    this.top = 0;
    onLook(this, () => this.draw());
  }

  changed() {
    if (!this.zoomed) this.range = null;
    this.states = new Set();
    this.folds = false;
    /** @param {Row[]} rows */
    const look = (rows) => {
      for (const row of rows) {
        for (const bar of row.bars) this.states.add(bar.state);
        if (!row.rows) continue;
        this.folds = true;
        look(row.rows);
      }
    };
    look(this.timeline?.rows ?? []);
    this.lay();
  }

  /** Lays out the rows that are not folded away. @param {(lane: Lane) => boolean} [turn] opens or folds all, or one */
  lay(turn) {
    this.turned ??= new Map();
    /** @type {Lane[]} */
    this.lanes = [];
    /** @param {Row[]} rows @param {number} depth @param {string} within */
    const add = (rows, depth, within) => {
      for (const row of rows) {
        const lane = { row, depth, path: `${within}\n${row.name}` };
        this.lanes.push(lane);
        if (!row.rows) continue;
        if (turn) this.turned.set(lane.path, turn(lane));
        if (this.isOpen(lane)) add(row.rows, depth + 1, lane.path);
      }
    };
    add(this.timeline?.rows ?? [], 0, "");
    this.longest = 0;
    this.widths = (this.timeline?.columns ?? []).map((/** @type {string} */ head) => head.length);
    for (const { row, depth } of this.lanes.slice(0, 300)) {
      this.longest = Math.max(this.longest, row.name.length + (this.folds ? 2 * depth + 8 : 0));
      row.cells?.forEach((text, i) => (this.widths[i] = Math.max(this.widths[i], Math.min(text.length, MAX_LETTERS))));
    }
  }

  /** @param {Lane} lane */
  isOpen({ row, path }) {
    return this.turned.get(path) ?? row.open ?? false;
  }

  /** Unfolds a row, or folds it. @param {Lane} lane */
  turn(lane) {
    const open = !this.isOpen(lane);
    this.lay((each) => (each.path === lane.path ? open : this.isOpen(each)));
    this.hit = null;
    this.draw();
  }

  /** The room for the names of the rows. */
  get names() {
    return Math.max(64, Math.min(this.clientWidth < 560 ? 96 : 240, this.longest * LETTER_PX + 20));
  }

  /** Where each column of the table begins, and the last one ends: as many columns as leave the bars half of the place. */
  get columns() {
    const ends = [this.names];
    if (this.clientWidth < TABLE_PX) return ends;
    for (const letters of this.widths ?? []) {
      const begin = ends[ends.length - 1];
      const end = Math.min(begin + letters * LETTER_PX + 16, this.clientWidth / 2);
      if (end - begin < COLUMN_PX) break;
      ends.push(end);
    }
    return ends;
  }

  /** The room for names and table. */
  get gutter() {
    return this.columns[this.columns.length - 1];
  }

  get shownRange() {
    const { start, end } = this.timeline;
    return this.range ?? { start, end: Math.max(end, start + 1) };
  }

  view() {
    const tall = this.hasAttribute("fills") ? {} : { height: `${Math.min(MAX_PX, HEAD_PX + (this.lanes?.length ?? 0) * ROW_PX + 4)}px` };
    return [
      h("div", { class: "gantt-tools" },
        h("ul", { class: "legend" }, this.legend()),
        h("span", { class: "spacer" }),
        this.folds && [
          h("button", { type: "button", class: "button small quiet", onclick: () => { this.lay(() => true); this.draw(); } }, "Unfold all"),
          h("button", { type: "button", class: "button small quiet", onclick: () => { this.lay(() => false); this.draw(); } }, "Fold all")],
        h("button", { type: "button", class: "button small quiet", "aria-label": "Zoom in", onclick: () => this.zoom(0.6) }, "+"),
        h("button", { type: "button", class: "button small quiet", "aria-label": "Zoom out", onclick: () => this.zoom(1.7) }, "−"),
        h("button", { type: "button", class: "button small quiet", disabled: !this.range, onclick: () => { this.range = null; this.zoomed = false; this.draw(); } }, "Whole")),
      h("div", { class: "gantt-box", style: tall },
        h("canvas", { tabindex: "0", role: "img", "aria-label": this.said(), ref: (/** @type {any} */ node) => (this.canvas = node),
          onwheel: (/** @type {WheelEvent} */ event) => this.wheel(event), onpointerdown: (/** @type {PointerEvent} */ event) => this.grab(event), onpointermove: (/** @type {PointerEvent} */ event) => this.point(event),
          onpointerleave: () => this.hide(), onclick: (/** @type {PointerEvent} */ event) => this.clicked(event), onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event) }),
        h("div", { class: "tip", hidden: !this.hit, style: this.tipAt ?? {} }, this.hit && this.tip(this.hit))),
    ];
  }

  legend() {
    return [...(this.states ?? [])].sort().map((state) => h("li", { key: state }, h("span", { class: `swatch ${FILLS[state] ?? "fill-none"}${state === "backoff" ? " hatched" : ""}` }), state === "backoff" ? "back-off" : state));
  }

  said() {
    const { start = 0, end = 0 } = this.timeline ?? {};
    return `${this.timeline?.title ?? "Timeline"}: ${this.lanes?.length ?? 0} rows over ${span(end - start)}. Arrow keys move, plus and minus zoom.`;
  }

  /** @param {{row: Row, bar?: Bar, at: number, isName?: boolean}} hit */
  tip({ row, bar, at, isName }) {
    const name = h("b", null, row.name);
    if (isName) return [name, row.cells?.map((text, i) => text && h("span", null, `${this.timeline.columns[i].toLowerCase()}: ${text}`))];
    if (!bar) return [name, h("span", null, `${Math.round((shareAt(row.use, at) ?? 0) * 100)}% used at ${clock(at)}`)];
    const to = bar.to ?? this.timeline.end;
    return [name, h("span", null, bar.label || bar.state), h("span", null, `${clock(bar.from)} to ${bar.to === null ? "now" : clock(bar.to)}, ${span(to - bar.from)}`), bar.detail && h("span", null, bar.detail)];
  }

  drawn() {
    if (!this.timeline || !this.canvas) return;
    const box = /** @type {HTMLElement} */ (this.canvas.parentElement);
    const [wide, tall] = [box.clientWidth, box.clientHeight];
    const { pen } = fit(this.canvas, wide, tall);
    const { columns, gutter, lanes } = this;
    const { start, end } = this.shownRange;
    const x = (/** @type {number} */ at) => gutter + ((at - start) / (end - start)) * (wide - gutter - 8);
    this.top = Math.max(0, Math.min(this.top, lanes.length * ROW_PX - (tall - HEAD_PX)));
    pen.clearRect(0, 0, wide, tall);
    pen.font = `12px ${getComputedStyle(this).fontFamily}`;
    pen.textBaseline = "middle";
    this.grid(pen, x, wide, tall, start, end);
    columns.slice(0, -1).forEach((left, i) => pen.fillText(this.timeline.columns[i], left, HEAD_PX / 2));
    pen.save();
    pen.beginPath();
    pen.rect(0, HEAD_PX, wide, tall - HEAD_PX);
    pen.clip();
    const first = Math.max(0, Math.floor(this.top / ROW_PX));
    const last = Math.min(lanes.length, Math.ceil((this.top + tall) / ROW_PX));
    const fills = Object.fromEntries(Object.entries(FILLS).map(([state, name]) => [state, colour(name)]));
    const [ink, strong, sunken] = [colour("ink-2"), colour("ink"), colour("sunken")];
    const { font } = pen;
    for (let i = first; i < last; i++) {
      const y = HEAD_PX + i * ROW_PX - this.top;
      const { row, depth } = lanes[i];
      const isHead = row.rows && !row.bars.length && !row.use;
      if (isHead) {
        pen.fillStyle = sunken;
        pen.fillRect(0, y, wide, ROW_PX);
      }
      if (row.use) this.area(pen, row.use, x, y, gutter, wide);
      for (const bar of row.bars) {
        const from = Math.max(gutter, x(bar.from));
        const to = Math.min(wide - 4, x(bar.to ?? this.timeline.end));
        if (to < gutter || from > wide) continue;
        pen.fillStyle = fills[bar.state] ?? fills.none;
        const thin = bar.state === "waiting" || bar.state === "backoff" || bar.state === "none";
        const high = thin ? 6 : ROW_PX - 8;
        const above = y + (ROW_PX - high) / 2;
        if (to - from < 3) {
          pen.fillRect(from, above, 2, high);
          continue;
        }
        pen.beginPath();
        pen.roundRect(from, above, to - from, high, Math.min(3, (to - from) / 2));
        pen.fill();
      }
      pen.fillStyle = isHead ? strong : ink;
      pen.font = isHead ? `600 ${font}` : font;
      const left = 6 + depth * STEP_PX;
      if (row.rows) pen.fillText(this.isOpen(lanes[i]) ? "▾" : "▸", left, y + ROW_PX / 2);
      const count = row.rows ? ` (${row.rows.length})` : "";
      const begin = left + (this.folds ? STEP_PX : 0);
      pen.fillText(isHead ? row.name : short(pen, row.name + count, columns[0] - begin - 8), begin, y + ROW_PX / 2);
      pen.font = font;
      columns.slice(0, -1).forEach((at, j) => pen.fillText(cut(pen, row.cells?.[j] ?? "", columns[j + 1] - at - 8), at, y + ROW_PX / 2));
      this.beyond(pen, row, gutter, wide, y + ROW_PX / 2);
    }
    this.thumb(pen, lanes.length * ROW_PX, wide, tall - HEAD_PX);
    pen.restore();
  }

  /** Draws how much of something is used over time. @param {CanvasRenderingContext2D} pen @param {Use} use @param {(at: number) => number} x @param {number} y @param {number} gutter @param {number} wide */
  area(pen, { from, to, shares }, x, y, gutter, wide) {
    const slice = (to - from) / shares.length;
    pen.fillStyle = colour("line");
    pen.fillRect(gutter, y + ROW_PX - 3, wide - gutter - 8, 1);
    pen.fillStyle = colour("accent");
    shares.forEach((share, i) => {
      const left = Math.max(gutter, Math.round(x(from + i * slice)));
      const right = Math.min(wide - 8, Math.round(x(from + (i + 1) * slice)));
      const high = Math.min(1, share) * (ROW_PX - 6);
      if (share > 0 && right > left) pen.fillRect(left, y + ROW_PX - 3 - Math.max(1, high), right - left, Math.max(1, high));
    });
  }

  /** Points to the bars of a row that has none in sight. @param {CanvasRenderingContext2D} pen @param {Row} row @param {number} gutter @param {number} wide @param {number} y */
  beyond(pen, { bars }, gutter, wide, y) {
    const { start, end } = this.shownRange;
    if (!bars.length) return;
    if (bars.every((bar) => (bar.to ?? this.timeline.end) < start)) pen.fillText("‹", gutter - 2, y);
    else if (bars.every((bar) => bar.from > end)) pen.fillText("›", wide - 16, y);
  }

  /** Shows which of more rows than fit are in sight. @param {CanvasRenderingContext2D} pen @param {number} whole @param {number} wide @param {number} tall */
  thumb(pen, whole, wide, tall) {
    if (whole <= tall) return;
    const high = Math.max(24, (tall * tall) / whole);
    pen.fillStyle = colour("ink-3");
    pen.beginPath();
    pen.roundRect(wide - 5, HEAD_PX + (this.top / (whole - tall)) * (tall - high), 4, high, 2);
    pen.fill();
  }

  /** @param {CanvasRenderingContext2D} pen @param {(at: number) => number} x @param {number} wide @param {number} tall @param {number} start @param {number} end */
  grid(pen, x, wide, tall, start, end) {
    const wanted = (end - start) / Math.max(2, (wide - this.gutter) / 110);
    const step = STEPS.find((each) => each >= wanted) ?? STEPS[STEPS.length - 1];
    const shift = -ahead(start);
    pen.strokeStyle = colour("line");
    pen.fillStyle = colour("ink-3");
    pen.lineWidth = 1;
    for (let at = Math.ceil((start - shift) / step) * step + shift; at <= end; at += step) {
      const left = Math.round(x(at)) + 0.5;
      pen.beginPath();
      pen.moveTo(left, HEAD_PX);
      pen.lineTo(left, tall);
      pen.stroke();
      const text = step >= 86400 ? full(at).split(",")[0] : clock(at).slice(0, step < 60 ? undefined : -3);
      if (left + 60 < wide) pen.fillText(text, left + 3, HEAD_PX / 2);
    }
  }

  /** @param {number} factor @param {number} [about] */
  zoom(factor, about) {
    const { start, end } = this.shownRange;
    const middle = about ?? (start + end) / 2;
    this.zoomed = true;
    this.range = { start: middle - (middle - start) * factor, end: middle + (end - middle) * factor };
    this.draw();
  }

  /** @param {number} share */
  move(share) {
    const { start, end } = this.shownRange;
    const by = (end - start) * share;
    this.zoomed = true;
    this.range = { start: start + by, end: end + by };
    this.draw();
  }

  /** @param {number} px */
  time(px) {
    const { start, end } = this.shownRange;
    return start + ((px - this.gutter) / (this.canvas.clientWidth - this.gutter - 8)) * (end - start);
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    if (event.ctrlKey) {
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.2 : 0.83, this.time(event.offsetX));
      return;
    }
    const most = this.lanes.length * ROW_PX - (this.canvas.clientHeight - HEAD_PX);
    const next = Math.max(0, Math.min(most, this.top + event.deltaY));
    if (next !== this.top) {
      event.preventDefault();
      this.top = next;
      this.hit = null;
      this.draw();
    }
  }

  /** @param {PointerEvent} event */
  grab(event) {
    const from = { x: event.clientX, y: event.clientY, top: this.top, range: this.shownRange };
    this.dragged = false;
    const stop = new AbortController();
    addEventListener("pointermove", (move) => {
      const dx = move.clientX - from.x;
      if (Math.abs(dx) + Math.abs(move.clientY - from.y) < 4 && !this.dragged) return;
      this.dragged = true;
      const by = (dx / (this.canvas.clientWidth - this.gutter)) * (from.range.end - from.range.start);
      if (this.range || Math.abs(dx) > 12) {
        this.zoomed = true;
        this.range = { start: from.range.start - by, end: from.range.end - by };
      }
      this.top = from.top - (move.clientY - from.y);
      this.draw();
    }, { signal: stop.signal });
    addEventListener("pointerup", () => stop.abort(), { signal: stop.signal });
  }

  /** @param {PointerEvent} event @returns {Lane | undefined} */
  laneAt(event) {
    return event.offsetY > HEAD_PX ? this.lanes?.[Math.floor((event.offsetY - HEAD_PX + this.top) / ROW_PX)] : undefined;
  }

  /** @param {PointerEvent} event */
  clicked(event) {
    const lane = this.laneAt(event);
    if (this.dragged || !lane) return;
    if (lane.row.rows) this.turn(lane);
    else if (this.hit?.bar) this.onopen?.(this.hit.row, this.hit.bar);
  }

  /** @param {PointerEvent} event */
  point(event) {
    const row = this.laneAt(event)?.row;
    const isName = event.offsetX < this.gutter;
    const at = this.time(event.offsetX);
    const slack = this.time(event.offsetX + 3) - at;
    const bar = isName ? undefined : row?.bars.find((/** @type {Bar} */ each) => each.from - slack <= at && at <= (each.to ?? this.timeline.end) + slack);
    if (isName ? !row?.cells : !bar && shareAt(row?.use, at) === undefined) return this.hide();
    this.hit = { row, bar, at, isName };
    const [left, tall] = [`${Math.max(0, Math.min(event.offsetX + 14, this.clientWidth - 270))}px`, this.canvas.clientHeight];
    const isLow = event.offsetY > Math.max(160, tall - 140);
    this.tipAt = isLow ? { left, bottom: `${tall - event.offsetY + 12}px` } : { left, top: `${event.offsetY + 16}px` };
    this.draw();
  }

  hide() {
    if (!this.hit) return;
    this.hit = null;
    this.draw();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.key === "+" || event.key === "=") this.zoom(0.6);
    else if (event.key === "-") this.zoom(1.7);
    else if (event.key === "ArrowRight") this.move(0.2);
    else if (event.key === "ArrowLeft") this.move(-0.2);
    else if (event.key === "ArrowDown") this.top += ROW_PX;
    else if (event.key === "ArrowUp") this.top -= ROW_PX;
    else return;
    event.preventDefault();
    this.draw();
  }
}
properties(Gantt, "timeline");
customElements.define("ls-gantt", Gantt);

/** The share that is used at a moment. @param {Use | undefined} use @param {number} at */
function shareAt(use, at) {
  return use?.shares[Math.floor(((at - use.from) / (use.to - use.from)) * use.shares.length)];
}

/** The beginning of a text, as much as there is room for. @param {CanvasRenderingContext2D} pen @param {string} text @param {number} room */
function cut(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  let keep = Math.floor((text.length * room) / pen.measureText(text).width);
  while (keep > 3 && pen.measureText(`${text.slice(0, keep)}…`).width > room) keep--;
  return `${text.slice(0, keep)}…`;
}

/** The end of a text, likewise. @param {CanvasRenderingContext2D} pen @param {string} text @param {number} room */
function short(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  let keep = Math.floor((text.length * room) / pen.measureText(text).width) - 1;
  while (keep > 3 && pen.measureText(`…${text.slice(-keep)}`).width > room) keep--;
  return `…${text.slice(-keep)}`;
}
