// How far a Job is: a bar in the colours of the states, and the numbers beside it.

import { number } from "../lib/format.js";
import { count, parse } from "../lib/indexes.js";
import { h } from "../lib/view.js";

/** @param {any} job */
export function parts(job) {
  const status = job.status ?? {};
  const done = status.succeeded ?? 0;
  const total = job.spec.completions ?? Math.max(done + (status.active ?? 0), 1);
  const failed = job.spec.completionMode === "Indexed" ? count(parse(status.failedIndexes)) : 0;
  const running = Math.min(status.ready ?? 0, Math.max(0, total - done - failed));
  const waiting = Math.min(Math.max(0, (status.active ?? 0) - (status.ready ?? 0)), Math.max(0, total - done - failed - running));
  return { total, done, failed, running, waiting, left: Math.max(0, total - done - failed - running - waiting) };
}

/** @param {any} job */
export function progress(job) {
  const { total, done, failed } = parts(job);
  const said = `${number(done)} / ${job.spec.completions === undefined ? "?" : number(total)}`;
  return h("span", { class: "progress" }, bar(job), h("span", { class: "figures" }, said, failed ? h("span", { class: "sr" }, `, ${failed} failed`) : null));
}

/** @param {any} job */
export function bar(job) {
  const { total, done, failed, running, waiting } = parts(job);
  const piece = (/** @type {number} */ value, /** @type {string} */ tone) => value > 0 && h("span", { class: `fill-${tone}`, style: { width: `${(100 * value) / total}%` } });
  return h("span", { class: "bar", role: "img", "aria-label": `${done} of ${total} done, ${failed} failed, ${running} running, ${waiting} waiting` },
    piece(done, "done"), piece(failed, "failed"), piece(running, "running"), piece(waiting, "waiting"));
}
