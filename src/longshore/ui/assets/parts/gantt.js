// A timeline: rows of bars over time, as docs/reference/ui.md writes it down. Draws only the rows in sight.
//
// Ctrl and the wheel, or the buttons, zoom; dragging and the arrow keys move; the pointer tells what a bar is.

import { ahead, clock, full, span } from "../lib/format.js";
import { colour, fit, onLook } from "../lib/paint.js";
import { h, properties, View } from "../lib/view.js";

const ROW_PX = 22;
const HEAD_PX = 24;
const MAX_PX = 520;
const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800, 2592000];
const FILLS = /** @type {Record<string, string>} */ ({ running: "fill-running", done: "fill-done", failed: "fill-failed", waiting: "fill-waiting", backoff: "fill-held", held: "fill-held", none: "fill-none" });

/** @typedef {{from: number, to: number | null, state: string, label?: string, detail?: string}} Bar  seconds; `to` null means it goes on */
/** @typedef {{name: string, group?: string, bars: Bar[]}} Row */
/** @typedef {{title?: string, start: number, end: number, rows: Row[]}} Timeline */

class Gantt extends View {
  start() {
    this.top = 0;
    onLook(this, () => this.draw());
  }

  changed() {
    if (!this.zoomed) this.range = null;
  }

  /** The room for the names of the rows. */
  get gutter() {
    const longest = (this.timeline?.rows ?? []).slice(0, 300).reduce((/** @type {number} */ most, /** @type {Row} */ row) => Math.max(most, row.name.length), 0);
    return Math.max(64, Math.min(this.clientWidth < 560 ? 96 : 200, longest * 7 + 20));
  }

  get shownRange() {
    const { start, end } = this.timeline;
    return this.range ?? { start, end: Math.max(end, start + 1) };
  }

  view() {
    const rows = this.timeline?.rows ?? [];
    const tall = Math.min(MAX_PX, HEAD_PX + rows.length * ROW_PX + 4);
    return [
      h("div", { class: "gantt-tools" },
        h("ul", { class: "legend" }, this.legend()),
        h("span", { class: "spacer" }),
        h("button", { type: "button", class: "button small quiet", "aria-label": "Zoom in", onclick: () => this.zoom(0.6) }, "+"),
        h("button", { type: "button", class: "button small quiet", "aria-label": "Zoom out", onclick: () => this.zoom(1.7) }, "−"),
        h("button", { type: "button", class: "button small quiet", disabled: !this.range, onclick: () => { this.range = null; this.zoomed = false; this.draw(); } }, "Whole")),
      h("div", { class: "gantt-box", style: { height: `${tall}px` } },
        h("canvas", { tabindex: "0", role: "img", "aria-label": this.said(), ref: (/** @type {any} */ node) => (this.canvas = node),
          onwheel: (/** @type {WheelEvent} */ event) => this.wheel(event), onpointerdown: (/** @type {PointerEvent} */ event) => this.grab(event), onpointermove: (/** @type {PointerEvent} */ event) => this.point(event),
          onpointerleave: () => this.hide(), onclick: () => this.hit?.row && !this.dragged && this.onopen?.(this.hit.row, this.hit.bar), onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event) }),
        h("div", { class: "tip", hidden: !this.hit, style: this.tipAt ?? {} }, this.hit && this.tip(this.hit))),
    ];
  }

  legend() {
    const seen = new Set();
    for (const row of (this.timeline?.rows ?? []).slice(0, 2000)) for (const bar of row.bars) seen.add(bar.state);
    return [...seen].sort().map((state) => h("li", { key: state }, h("span", { class: `swatch ${FILLS[state] ?? "fill-none"}${state === "backoff" ? " hatched" : ""}` }), state === "backoff" ? "back-off" : state));
  }

  said() {
    const { rows = [], start = 0, end = 0 } = this.timeline ?? {};
    return `${this.timeline?.title ?? "Timeline"}: ${rows.length} rows over ${span(end - start)}. Arrow keys move, plus and minus zoom.`;
  }

  /** @param {{row: Row, bar: Bar}} hit */
  tip({ row, bar }) {
    const to = bar.to ?? this.timeline.end;
    return [h("b", null, row.name), h("span", null, bar.label || bar.state), h("span", null, `${clock(bar.from)} to ${bar.to === null ? "now" : clock(bar.to)}, ${span(to - bar.from)}`), bar.detail && h("span", null, bar.detail)];
  }

  drawn() {
    if (!this.timeline || !this.canvas) return;
    const box = /** @type {HTMLElement} */ (this.canvas.parentElement);
    const [wide, tall] = [box.clientWidth, box.clientHeight];
    const { pen } = fit(this.canvas, wide, tall);
    const { gutter } = this;
    const { start, end } = this.shownRange;
    const x = (/** @type {number} */ at) => gutter + ((at - start) / (end - start)) * (wide - gutter - 8);
    const rows = this.timeline.rows;
    this.top = Math.max(0, Math.min(this.top, rows.length * ROW_PX - (tall - HEAD_PX)));
    pen.clearRect(0, 0, wide, tall);
    pen.font = `12px ${getComputedStyle(this).fontFamily}`;
    pen.textBaseline = "middle";
    this.grid(pen, x, wide, tall, start, end);
    pen.save();
    pen.beginPath();
    pen.rect(0, HEAD_PX, wide, tall - HEAD_PX);
    pen.clip();
    const first = Math.max(0, Math.floor(this.top / ROW_PX));
    const last = Math.min(rows.length, Math.ceil((this.top + tall) / ROW_PX));
    const fills = Object.fromEntries(Object.entries(FILLS).map(([state, name]) => [state, colour(name)]));
    const ink = colour("ink-2");
    for (let i = first; i < last; i++) {
      const y = HEAD_PX + i * ROW_PX - this.top;
      for (const bar of rows[i].bars) {
        const from = Math.max(gutter, x(bar.from));
        const to = Math.min(wide - 4, x(bar.to ?? this.timeline.end));
        if (to < gutter || from > wide) continue;
        pen.fillStyle = fills[bar.state] ?? fills.none;
        const thin = bar.state === "waiting" || bar.state === "backoff" || bar.state === "none";
        const high = thin ? 6 : ROW_PX - 8;
        pen.beginPath();
        pen.roundRect(from, y + (ROW_PX - high) / 2, Math.max(2, to - from), high, Math.min(3, Math.max(1, (to - from) / 2)));
        pen.fill();
      }
      pen.fillStyle = ink;
      pen.fillText(short(pen, rows[i].name, gutter - 14), 6, y + ROW_PX / 2);
      this.beyond(pen, rows[i], gutter, wide, y + ROW_PX / 2);
    }
    this.thumb(pen, rows.length * ROW_PX, wide, tall - HEAD_PX);
    pen.restore();
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
    const most = this.timeline.rows.length * ROW_PX - (this.canvas.clientHeight - HEAD_PX);
    const next = Math.max(0, Math.min(most, this.top + event.deltaY));
    if (next !== this.top) {
      event.preventDefault();
      this.top = next;
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

  /** @param {PointerEvent} event */
  point(event) {
    const row = this.timeline?.rows[Math.floor((event.offsetY - HEAD_PX + this.top) / ROW_PX)];
    const at = this.time(event.offsetX);
    const slack = this.time(event.offsetX + 3) - at;
    const bar = event.offsetY > HEAD_PX && row?.bars.find((/** @type {Bar} */ each) => each.from - slack <= at && at <= (each.to ?? this.timeline.end) + slack);
    if (!bar) return this.hide();
    this.hit = { row, bar };
    this.tipAt = { left: `${Math.max(0, Math.min(event.offsetX + 14, this.clientWidth - 270))}px`, top: `${event.offsetY + 16}px` };
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

/** @param {CanvasRenderingContext2D} pen @param {string} text @param {number} room */
function short(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  let keep = Math.floor((text.length * room) / pen.measureText(text).width) - 1;
  while (keep > 3 && pen.measureText(`…${text.slice(-keep)}`).width > room) keep--;
  return `…${text.slice(-keep)}`;
}
