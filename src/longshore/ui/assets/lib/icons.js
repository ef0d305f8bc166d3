// Icons as paths in a 16 by 16 square, drawn with the colour of the text around them.

import { h } from "./view.js";

/** @type {Record<string, string>} */
const PATHS = {
  running: "M5 3.2v9.6L12.6 8z",
  done: "M3.2 8.6l3 3 6.6-7",
  failed: "M4 4l8 8M12 4l-8 8",
  waiting: "M8 4.4V8l2.6 1.8M8 1.8a6.2 6.2 0 100 12.4A6.2 6.2 0 008 1.8z",
  held: "M5.6 3.6v8.8M10.4 3.6v8.8",
  none: "M4 8h8",
  overview: "M2.5 9.5h4v4h-4zM2.5 2.5h4v4h-4zM9.5 2.5h4v4h-4zM9.5 9.5h4v4h-4z",
  jobs: "M2.5 4.5h11v9h-11zM5.5 4.5v-2h5v2M2.5 8.5h11",
  cronjobs: "M8 4.4V8l2.6 1.8M8 1.8a6.2 6.2 0 100 12.4A6.2 6.2 0 008 1.8z",
  gangs: "M5.4 7a2.1 2.1 0 100-4.2 2.1 2.1 0 000 4.2zM10.9 7.4a1.8 1.8 0 100-3.6M1.8 13c0-2.3 1.5-3.8 3.6-3.8S9 10.700 9 13M11 9.400c1.900.2 3.200 1.500 3.200 3.600",
  pods: "M8 1.800l5.400 3v6.400L8 14.200l-5.400-3V4.800zM2.800 5L8 8l5.200-3M8 8v6",
  queues: "M2.500 4h11M2.500 8h11M2.500 12h6",
  jobflows: "M2 3h4v3H2zM10 10h4v3h-4zM10 3h4v3h-4zM6 4.500h4M8 4.500v7h2",
  history: "M2.600 8a5.400 5.400 0 101.700-3.900M2.600 2.400v2.400H5M8 5v3.200l2 1.300",
  timeline: "M2 3.500h6M5 8h6M8 12.500h6",
  search: "M7 11.600A4.600 4.600 0 107 2.400a4.600 4.600 0 000 9.200zM10.400 10.400L14 14",
  moon: "M13.400 9.800A5.800 5.800 0 016.200 2.600a5.800 5.800 0 107.200 7.200z",
  sun: "M8 5.200a2.800 2.800 0 100 5.600 2.800 2.800 0 000-5.600zM8 1.400v1.400M8 13.200v1.400M1.400 8h1.400M13.200 8h1.400M3.300 3.300l1 1M11.700 11.700l1 1M12.700 3.300l-1 1M4.300 11.700l-1 1",
  logout: "M6.500 2.500h-4v11h4M10 5l3 3-3 3M13 8H6",
  copy: "M5.500 5.500h8v8h-8zM3.500 10.500h-1v-8h8v1",
  download: "M8 2.500v8M4.600 7.400L8 10.600l3.400-3.200M2.500 13.500h11",
  retry: "M13.200 8a5.200 5.200 0 11-1.600-3.700M13.300 2.300v2.600h-2.600",
  trash: "M2.800 4.300h10.400M6 4.300v-1.800h4v1.800M4.200 4.300l.6 9.200h6.400l.6-9.200",
  chevron: "M6 4l4 4-4 4",
  down: "M4 6l4 4 4-4",
  up: "M4 10l4-4 4 4",
  terminal: "M3 4.500l3.500 3.500L3 11.500M8.500 12h5",
  close: "M4 4l8 8M12 4l-8 8",
  user: "M8 8a2.700 2.700 0 100-5.400A2.700 2.700 0 008 8zM2.800 13.800c0-2.700 2.300-4.300 5.200-4.300s5.200 1.600 5.200 4.300",
  alert: "M8 2.300l6.200 11H1.800zM8 6.400v3.200M8 11.300v.2",
  node: "M2.500 3h11v4h-11zM2.500 9h11v4h-11zM5 5h.1M5 11h.1",
};

const FILLED = new Set(["running"]);

/** @param {string} name @param {string} [label] for those who do not see it */
export function icon(name, label = "") {
  const filled = FILLED.has(name);
  return h(
    "svg",
    { class: "icon", viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": label ? null : "true", role: label ? "img" : null, "aria-label": label || null },
    h("path", {
      d: PATHS[name] ?? PATHS.none,
      fill: filled ? "currentColor" : "none",
      stroke: filled ? "none" : "currentColor",
      "stroke-width": 1.6,
      "stroke-linecap": "round",
      "stroke-linejoin": "round",
    }),
  );
}

/** A state with icon, colour and word. @param {import("./states.js").State} state */
export const badge = ({ word, tone }) => h("span", { class: `badge ${tone}` }, icon(tone), h("span", null, word));
