// The timeline of a Job: a row for each index, or for each pod of a Job without indexes.

import { podEnd, podIndex, podState, podTimes } from "./states.js";

const MAX_ROWS = 1000;

/** @param {any[]} pods @param {string} title @returns {import("../parts/gantt.js").Timeline} */
export function timelineOf(pods, title) {
  const now = Date.now() / 1000;
  /** @type {Map<string, any[]>} */
  const rows = new Map();
  for (const pod of pods) {
    const index = podIndex(pod);
    const id = index === null ? pod.metadata.name : `index ${index}`;
    const row = rows.get(id);
    if (row) row.push(pod);
    else rows.set(id, [pod]);
  }
  const made = [...rows].map(([name, some]) => {
    some.sort((a, b) => (a.metadata.creationTimestamp < b.metadata.creationTimestamp ? -1 : 1));
    return { name, first: Date.parse(some[0].metadata.creationTimestamp), order: podIndex(some[0]) ?? 0, bars: barsOf(some) };
  });
  made.sort((a, b) => a.first - b.first || a.order - b.order);
  const shown = made.slice(0, MAX_ROWS);
  const times = shown.flatMap((row) => row.bars.flatMap((/** @type {any} */ bar) => [bar.from, bar.to ?? now]));
  const start = times.reduce((least, at) => Math.min(least, at), now);
  const end = times.reduce((most, at) => Math.max(most, at), start + 1);
  return { title, start, end, rows: shown.map(({ name, bars }) => ({ name, bars })) };
}

/** @param {any[]} pods of one row, oldest first @returns {import("../parts/gantt.js").Bar[]} */
function barsOf(pods) {
  const bars = [];
  /** @type {number | null} */
  let failedAt = null;
  for (const pod of pods) {
    const { created, begun, ended, over } = podTimes(pod);
    if (failedAt !== null && created / 1000 > failedAt) {
      bars.push({ from: failedAt, to: created / 1000, state: "backoff", label: "waits before the retry" });
    }
    const waitedTo = begun ?? ended;
    if (waitedTo === null || waitedTo > created) {
      bars.push({ from: created / 1000, to: waitedTo === null ? null : waitedTo / 1000, state: "waiting", label: podState(pod).tone === "waiting" ? podState(pod).word : "waited to start", detail: pod.metadata.name });
    }
    if (begun !== null) {
      const end = podEnd(pod);
      const state = pod.status.phase === "Succeeded" ? "done" : pod.status.phase === "Failed" ? "failed" : "running";
      const detail = [pod.metadata.name, end && over ? `exit code ${end.exitCode}${end.reason && end.reason !== "Error" && end.reason !== "Completed" ? `, ${end.reason}` : ""}` : ""].filter(Boolean).join(", ");
      bars.push({ from: begun / 1000, to: over ? Math.max(ended ?? begun, begun) / 1000 : null, state, label: podState(pod).word, detail });
    }
    failedAt = pod.status?.phase === "Failed" && ended !== null ? ended / 1000 : null;
  }
  return bars;
}
