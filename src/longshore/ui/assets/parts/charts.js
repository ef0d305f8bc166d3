// Small charts in SVG: columns over time, a line over time, bars that share a whole.

import { h } from "../lib/view.js";

/**
 * Columns of stacked values, oldest first.
 * @param {{title: string, values: {tone: string, value: number}[]}[]} columns
 * @param {string} label
 */
export function columnChart(columns, label, tall = 96) {
  const most = Math.max(1, ...columns.map((column) => column.values.reduce((sum, each) => sum + each.value, 0)));
  const wide = 100 / columns.length;
  return h("svg", { class: "chart", viewBox: `0 0 100 ${tall}`, preserveAspectRatio: "none", role: "img", "aria-label": label, height: tall },
    h("line", { class: "axis", x1: 0, x2: 100, y1: tall - 0.5, y2: tall - 0.5, "vector-effect": "non-scaling-stroke" }),
    columns.map((column, i) => {
      let top = tall - 1;
      return h("g", { key: i }, h("title", null, column.title), h("rect", { class: "hit", x: i * wide, y: 0, width: wide, height: tall }),
        column.values.map((each) => {
          const high = (each.value / most) * (tall - 6);
          top -= high;
          return each.value > 0 && h("rect", { key: each.tone, class: `ink-${each.tone}`, x: i * wide + wide * 0.12, y: top, width: wide * 0.76, height: Math.max(1, high) });
        }));
    }));
}

/** A line from left to right. @param {number[]} values @param {number} most @param {string} label */
export function spark(values, most, label, tall = 44) {
  const shown = values.length > 1 ? values : [values[0] ?? 0, values[0] ?? 0];
  const step = 100 / (shown.length - 1);
  const y = (/** @type {number} */ value) => tall - 2 - Math.min(1, value / Math.max(most, 1e-9)) * (tall - 6);
  const points = shown.map((value, i) => `${(i * step).toFixed(2)},${y(value).toFixed(2)}`).join(" ");
  return h("svg", { class: "chart", viewBox: `0 0 100 ${tall}`, preserveAspectRatio: "none", role: "img", "aria-label": label, height: tall },
    h("line", { class: "axis", x1: 0, x2: 100, y1: tall - 0.5, y2: tall - 0.5, "vector-effect": "non-scaling-stroke" }),
    h("polygon", { class: "area", points: `0,${tall} ${points} 100,${tall}` }),
    h("polyline", { class: "line", points, "vector-effect": "non-scaling-stroke" }));
}

/** How much of something is used. @param {{label: string, used: number, whole: number, said: string, marks?: {at: number, title: string}[]}} share */
export function shareBar({ label, used, whole, said, marks = [] }) {
  const part = (/** @type {number} */ value) => `${Math.min(100, (100 * value) / Math.max(whole, 1e-9))}%`;
  return h("div", { class: "share", key: label },
    h("div", { class: "share-head" }, h("span", null, label), h("span", { class: "hint" }, said)),
    h("div", { class: "bar big", role: "img", "aria-label": `${label}: ${said}` }, h("span", { class: used > whole ? "fill-failed" : "fill-running", style: { width: part(used) } }),
      marks.map((mark) => h("i", { key: mark.title, class: "mark", title: mark.title, style: { left: part(mark.at) } }))));
}
