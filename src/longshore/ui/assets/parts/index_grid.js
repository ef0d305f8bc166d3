// The indexes of a Job as a grid of squares, one colour a state; up to 100,000 and more.
//
// Only squares whose state has changed are painted again. Pointer and arrow keys choose an index; `onhover` and `onopen` hear
// of it.

import { number } from "../lib/format.js";
import { colour, fit, onLook } from "../lib/paint.js";
import { h, properties, View } from "../lib/view.js";

/** By value in `states`. */
export const INDEX_STATES = [
  { word: "not started", fill: "fill-none" },
  { word: "waiting", fill: "fill-waiting" },
  { word: "running", fill: "fill-running" },
  { word: "done", fill: "fill-done" },
  { word: "failed", fill: "fill-failed" },
  { word: "waits for its retry", fill: "fill-held" },
];

const SIZES = [[400, 18], [1500, 13], [5000, 9], [20000, 6], [50000, 4], [Infinity, 3]];

/** `states` is a Uint8Array with the state of each index, and `version` changes with its content; `detail` says more of an index. */
class IndexGrid extends View {
  start() {
    this.at = -1;
    onLook(this, () => {
      this.painted = null;
      this.draw();
    });
  }

  get cell() {
    const count = this.states?.length ?? 0;
    return SIZES.find(([most]) => count <= most)?.[1] ?? 3;
  }

  get across() {
    return Math.max(1, Math.floor((this.querySelector(".grid-scroll")?.clientWidth || this.clientWidth || 600) / this.cell));
  }

  view() {
    const states = this.states ?? new Uint8Array();
    const counts = new Array(INDEX_STATES.length).fill(0);
    for (const state of states) counts[state]++;
    const said = INDEX_STATES.map((state, i) => (counts[i] ? `${number(counts[i])} ${state.word}` : "")).filter(Boolean).join(", ");
    return [
      h("ul", { class: "legend" }, INDEX_STATES.map((state, i) => counts[i] > 0 && h("li", { key: i }, h("span", { class: `swatch ${state.fill}` }), `${state.word} `, h("b", null, number(counts[i]))))),
      h("div", { class: "grid-scroll" },
        h("canvas", { tabindex: "0", role: "img", "aria-label": `Indexes: ${said}. Arrow keys choose one, Enter opens it.`,
          ref: (/** @type {any} */ node) => (this.canvas = node), onmousemove: (/** @type {MouseEvent} */ event) => this.hover(this.indexAt(event), event),
          onmouseleave: () => this.hover(-1), onclick: (/** @type {MouseEvent} */ event) => this.open(this.indexAt(event)), onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event), onblur: () => this.hover(-1) })),
      h("div", { class: "tip", role: "status", hidden: this.at < 0, style: this.tipAt ?? {} }, this.at >= 0 && [
        h("b", null, `index ${this.at}`), h("span", null, INDEX_STATES[states[this.at] ?? 0].word), (this.detail?.(this.at) ?? []).map((/** @type {string} */ line) => h("span", null, line))]),
    ];
  }

  drawn() {
    this.paint();
  }

  paint() {
    const states = this.states;
    if (!states || !this.canvas) return;
    const { cell, across } = this;
    const { pen, fresh } = fit(this.canvas, across * cell, Math.max(1, Math.ceil(states.length / across)) * cell);
    const gap = cell > 6 ? 2 : cell > 3 ? 1 : 0.5;
    const old = !fresh && this.painted?.length === states.length && this.paintedAcross === across ? this.painted : null;
    if (!old) pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    for (let state = 0; state < INDEX_STATES.length; state++) {
      pen.fillStyle = colour(INDEX_STATES[state].fill);
      for (let i = 0; i < states.length; i++) {
        if (states[i] !== state || (old && old[i] === state)) continue;
        pen.fillRect((i % across) * cell, Math.floor(i / across) * cell, cell - gap, cell - gap);
      }
    }
    this.painted = states.slice();
    this.paintedAcross = across;
  }

  /** @param {MouseEvent} event */
  indexAt(event) {
    const { cell, across } = this;
    const column = Math.floor(event.offsetX / cell);
    const index = Math.floor(event.offsetY / cell) * across + column;
    return column < across && index >= 0 && index < (this.states?.length ?? 0) ? index : -1;
  }

  /** @param {number} index @param {MouseEvent} [event] */
  hover(index, event) {
    if (index === this.at) return;
    this.at = index;
    if (index >= 0) {
      const box = this.getBoundingClientRect();
      const scroll = this.querySelector(".grid-scroll");
      const x = event ? event.clientX - box.left : (index % this.across) * this.cell;
      const y = event ? event.clientY - box.top : Math.floor(index / this.across) * this.cell - (scroll?.scrollTop ?? 0) + 40;
      this.tipAt = { left: `${Math.min(x + 14, Math.max(0, box.width - 240))}px`, top: `${y + 18}px` };
      this.onhover?.(index);
    }
    this.draw();
  }

  /** @param {number} index */
  open(index) {
    if (index >= 0) this.onopen?.(index);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const steps = /** @type {Record<string, number>} */ ({ ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.across, ArrowUp: -this.across });
    if (event.key in steps) this.hover(Math.max(0, Math.min((this.states?.length ?? 1) - 1, this.at < 0 ? 0 : this.at + steps[event.key])));
    else if (event.key === "Enter") this.open(this.at);
    else if (event.key === "Escape") this.hover(-1);
    else return;
    event.preventDefault();
  }
}
properties(IndexGrid, "states", "version");
customElements.define("ls-index-grid", IndexGrid);
