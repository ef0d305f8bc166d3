// A month as a grid of days, with a mark for each run that was and a number for those to come.

import { counted } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { h } from "../lib/view.js";

const SHOWN_MARKS = 6;
const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const TIME = /** @type {Intl.DateTimeFormatOptions} */ ({ year: "numeric", month: "numeric", day: "numeric", hour: "2-digit", minute: "2-digit", hour12: false });
const TITLE = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric" });

/**
 * @param {{runs: {name: string, at: number, state: import("../lib/states.js").State}[], coming: {at: string, note?: string}[], month: number, zone: string, onmonth: (month: number) => void}} what
 * `month` counts from the present one; days and times are those of `zone`.
 */
export function calendar({ runs, coming, month, zone, onmonth }) {
  const face = faces(zone);
  const today = face(Date.now() / 1000);
  const first = new Date(today.year, today.month - 1 + month, 1);
  const lead = (first.getDay() + 6) % 7;
  const length = new Date(first.getFullYear(), first.getMonth() + 1, 0).getDate();
  const dayOf = (/** @type {number} */ at) => {
    const date = face(at);
    return date.year === first.getFullYear() && date.month === first.getMonth() + 1 ? date.day : 0;
  };
  /** @type {Map<number, any[]>} */
  const past = new Map();
  for (const run of runs) push(past, dayOf(run.at), { ...run, time: face(run.at).time });
  /** @type {Map<number, any[]>} */
  const next = new Map();
  for (const run of coming) push(next, dayOf(Date.parse(run.at) / 1000), { ...run, time: face(Date.parse(run.at) / 1000).time });
  const cells = [];
  for (let day = 1; day <= length; day++) cells.push(cell(day, month === 0 && day === today.day, past.get(day) ?? [], next.get(day) ?? []));
  return [
    h("div", { class: "panel-head" },
      h("button", { type: "button", class: "quiet back", "aria-label": "Month before", onclick: () => onmonth(month - 1) }, icon("chevron")),
      h("h3", { "aria-live": "polite" }, TITLE.format(first)),
      h("button", { type: "button", class: "quiet", "aria-label": "Month after", onclick: () => onmonth(month + 1) }, icon("chevron"))),
    h("div", { class: "calendar" },
      DAYS.map((day) => h("span", { key: day, class: "weekday" }, day)),
      Array.from({ length: lead }, (_, i) => h("span", { key: `lead ${i}` })), cells),
  ];
}

/** @param {number} day @param {boolean} today @param {any[]} past @param {any[]} next */
function cell(day, today, past, next) {
  const said = [past.length && `${past.length} ran`, next.length && `${next.length} to come`].filter(Boolean).join(", ");
  const notes = next.map((run) => run.note).filter(Boolean);
  return h("div", { key: day, class: `day${today ? " today" : ""}`, title: [...past.map((run) => `${run.time} ${run.state.word}`), ...notes].slice(0, 12).join("\n") || null },
    h("span", { class: "date" }, day, said && h("span", { class: "sr" }, `: ${said}`)),
    h("span", { class: "marks", "aria-hidden": "true" }, past.slice(0, SHOWN_MARKS).map((run, i) => h("i", { key: i, class: `fill-${run.state.tone}` })), past.length > SHOWN_MARKS && h("small", null, `+${past.length - SHOWN_MARKS}`)),
    next.length > 0 && h("span", { class: "coming", "aria-hidden": "true" }, next.length === 1 ? next[0].time : counted(next.length, "run")),
    notes.length > 0 && h("span", { class: "note" }, icon("alert", notes.join("; "))));
}

/** Reads clocks of a zone; of the browser's, where it does not know the zone. @param {string} zone */
function faces(zone) {
  let format;
  try {
    format = new Intl.DateTimeFormat("en-GB", { ...TIME, timeZone: zone || undefined });
  } catch {
    format = new Intl.DateTimeFormat("en-GB", TIME);
  }
  return (/** @type {number} */ at) => {
    const parts = Object.fromEntries(format.formatToParts(at * 1000).map((part) => [part.type, part.value]));
    return { year: Number(parts.year), month: Number(parts.month), day: Number(parts.day), time: `${parts.hour}:${parts.minute}` };
  };
}

/** @param {Map<number, any[]>} map @param {number} day @param {any} run */
function push(map, day, run) {
  if (!day) return;
  const some = map.get(day);
  if (some) some.push(run);
  else map.set(day, [run]);
}
