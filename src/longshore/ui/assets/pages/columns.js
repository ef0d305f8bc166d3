// The columns of each list: what a row says, and how it sorts.

import { ago, amount, counted, full, number, quantity, seconds, span } from "../lib/format.js";
import { badge } from "../lib/icons.js";
import { pageOf } from "../lib/kinds.js";
import { STATE_OF, jobEnded, podEnd, podTimes } from "../lib/states.js";
import { h } from "../lib/view.js";
import { progress } from "../parts/progress.js";

/** @typedef {import("../parts/table.js").Column} Column */

/** @param {string} id @returns {Column} */
const name = (id) => ({
  id: "name", title: "Name", width: "minmax(9rem, 2fr)",
  cell: (row) => h("a", { class: "strong", href: pageOf(id, row) }, row.metadata.name),
  sort: (row) => row.metadata.name,
});

/** @type {Column} */
const namespace = { id: "namespace", title: "Namespace", width: "minmax(5rem, 0.8fr)", rank: 2, cell: (row) => row.metadata.namespace, sort: (row) => row.metadata.namespace };

/** @type {Column} */
const age = { id: "age", title: "Created", width: "6.5rem", rank: 1, right: true,
  cell: (row) => h("time", { title: full(row.metadata.creationTimestamp) }, ago(row.metadata.creationTimestamp)), sort: (row) => row.metadata.creationTimestamp };

/** @param {string} id @returns {Column} */
const state = (id) => ({ id: "state", title: "State", width: "minmax(7.5rem, 0.9fr)", cell: (row) => badge(STATE_OF[id](row)), sort: (row) => STATE_OF[id](row).word });

/** @param {any} job */
export function jobSpan(job) {
  const begun = seconds(job.status?.startTime);
  const ends = (job.status?.conditions ?? []).filter((/** @type {any} */ each) => each.type === "Complete" || each.type === "Failed");
  return (ends.length ? seconds(ends[0].lastTransitionTime) : Date.now() / 1000) - begun;
}

/** @param {any} pod */
export const restarts = (pod) => (pod.status?.containerStatuses ?? []).reduce((/** @type {number} */ sum, /** @type {any} */ each) => sum + (each.restartCount ?? 0), 0);

/** @param {any} pod */
const podSpan = (pod) => {
  const { begun, ended, over } = podTimes(pod);
  return begun === null ? NaN : ((over ? (ended ?? begun) : Date.now()) - begun) / 1000;
};

/** @type {Record<string, Column[]>} */
export const COLUMNS = {
  jobs: [
    name("jobs"), namespace, state("jobs"),
    { id: "progress", title: "Progress", width: "minmax(8rem, 1.4fr)", rank: 1, cell: (job) => progress(job), sort: (job) => (job.status?.succeeded ?? 0) / (job.spec.completions ?? 1) },
    { id: "failed", title: "Failed", width: "5rem", rank: 2, right: true, cell: (job) => (job.status?.failed ? number(job.status.failed) : ""), sort: (job) => job.status?.failed ?? 0 },
    { id: "took", title: "Duration", width: "6rem", rank: 2, right: true, cell: (job) => span(jobSpan(job)), sort: (job) => jobSpan(job) || 0 },
    age,
  ],
  cronjobs: [
    name("cronjobs"), namespace, state("cronjobs"),
    { id: "schedule", title: "Schedule", width: "minmax(8rem, 1fr)", rank: 1, cell: (row) => h("code", null, row.spec.schedule), sort: (row) => row.spec.schedule },
    { id: "zone", title: "Zone", width: "minmax(6rem, 0.8fr)", rank: 3, cell: (row) => row.spec.timeZone ?? "this machine's" },
    { id: "last", title: "Last run", width: "7rem", rank: 1, right: true, cell: (row) => ago(row.status?.lastScheduleTime) || "never", sort: (row) => row.status?.lastScheduleTime ?? "" },
    age,
  ],
  gangs: [
    name("gangs"), namespace, state("gangs"),
    { id: "queue", title: "Queue", width: "minmax(5rem, 0.8fr)", rank: 2, cell: (row) => row.spec.queue ?? "default", sort: (row) => row.spec.queue ?? "" },
    { id: "pods", title: "Pods", width: "minmax(8rem, 1.2fr)", rank: 1, cell: (row) => gangPods(row), sort: (row) => row.status?.running ?? 0 },
    { id: "min", title: "Needs", width: "5rem", rank: 2, right: true, cell: (row) => number(row.spec.minAvailable ?? 0), sort: (row) => row.spec.minAvailable ?? 0 },
    age,
  ],
  pods: [
    name("pods"), namespace, state("pods"),
    { id: "end", title: "Exit code", width: "6rem", rank: 2, right: true, cell: (pod) => podEnd(pod)?.exitCode ?? "", sort: (pod) => podEnd(pod)?.exitCode ?? -1 },
    { id: "restarts", title: "Restarts", width: "5.5rem", rank: 2, right: true, cell: (pod) => restarts(pod) || "", sort: restarts },
    { id: "took", title: "Ran for", width: "6rem", rank: 1, right: true, cell: (pod) => span(podSpan(pod)), sort: (pod) => podSpan(pod) || 0 },
    { id: "node", title: "Node", width: "minmax(6rem, 0.8fr)", rank: 3, cell: (pod) => pod.spec.nodeName ?? "", sort: (pod) => pod.spec.nodeName ?? "" },
    age,
  ],
  queues: [
    name("queues"), state("queues"),
    { id: "weight", title: "Weight", width: "5rem", rank: 1, right: true, cell: (row) => row.spec.weight ?? 1, sort: (row) => row.spec.weight ?? 1 },
    { id: "cpu", title: "CPU in use", width: "7rem", right: true, cell: (row) => amount("cpu", quantity(row.status?.allocated?.cpu)), sort: (row) => quantity(row.status?.allocated?.cpu) },
    { id: "memory", title: "Memory in use", width: "8rem", rank: 1, right: true, cell: (row) => amount("memory", quantity(row.status?.allocated?.memory)), sort: (row) => quantity(row.status?.allocated?.memory) },
    { id: "parent", title: "Parent", width: "minmax(6rem, 0.8fr)", rank: 2, cell: (row) => row.spec.parent ?? "", sort: (row) => row.spec.parent ?? "" },
    age,
  ],
  jobflows: [
    name("jobflows"), namespace, state("jobflows"),
    { id: "steps", title: "Steps", width: "minmax(8rem, 1fr)", rank: 1, cell: (row) => counted(row.spec.flows?.length ?? 0, "step") },
    age,
  ],
};

/** @param {any} gang */
function gangPods(gang) {
  const { running = 0, succeeded = 0, pending = 0, failed = 0 } = gang.status ?? {};
  const said = [[running, "running"], [succeeded, "done"], [pending, "waiting"], [failed, "failed"]].filter(([count]) => count);
  return said.map(([count, word]) => `${count} ${word}`).join(", ") || "none yet";
}

/** What the states of a list can be, for its filter. @type {Record<string, string[]>} */
export const STATES = {
  jobs: ["running", "waiting", "failed", "complete", "suspended"],
  cronjobs: ["scheduled", "running", "suspended"],
  gangs: ["running", "pending", "completed", "failed", "aborted"],
  pods: ["running", "waiting", "starting", "failed", "succeeded"],
  queues: ["open", "closed"],
  jobflows: ["running", "complete", "failed"],
};

export { jobEnded };
