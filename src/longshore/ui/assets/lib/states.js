// The state of an object: a word, and a tone that gives its colour and icon. The word is what counts; the others help.

/** @typedef {"running" | "done" | "failed" | "waiting" | "held" | "none"} Tone */
/** @typedef {{word: string, tone: Tone}} State */

/** @param {any} object @param {string} type */
export const condition = (object, type) =>
  (object.status?.conditions ?? []).find((/** @type {any} */ each) => each.type === type && each.status === "True");

/** @param {any} job @returns {State} */
export function jobState(job) {
  if (condition(job, "Complete")) return { word: "complete", tone: "done" };
  if (condition(job, "Failed")) return { word: "failed", tone: "failed" };
  if (job.metadata.deletionTimestamp) return { word: "deleting", tone: "none" };
  if (condition(job, "FailureTarget")) return { word: "failing", tone: "failed" };
  if (job.spec.suspend) return { word: "suspended", tone: "held" };
  if ((job.status?.ready ?? 0) > 0) return { word: "running", tone: "running" };
  return { word: "waiting", tone: "waiting" };
}

export const jobEnded = (/** @type {any} */ job) => Boolean(condition(job, "Complete") || condition(job, "Failed"));

const WAITING_REASONS = new Set(["ContainerCreating", "PodInitializing"]);

/** @param {any} pod @returns {State} */
export function podState(pod) {
  const status = pod.status ?? {};
  if (pod.metadata.deletionTimestamp && status.phase !== "Succeeded" && status.phase !== "Failed") {
    return { word: "terminating", tone: "none" };
  }
  if (status.phase === "Succeeded") return { word: "succeeded", tone: "done" };
  if (status.phase === "Failed") return { word: status.reason === "Evicted" ? "evicted" : "failed", tone: "failed" };
  const stuck = (status.containerStatuses ?? [])
    .map((/** @type {any} */ each) => each.state?.waiting?.reason)
    .find((/** @type {string} */ reason) => reason && !WAITING_REASONS.has(reason));
  if (stuck) return { word: stuck, tone: "failed" };
  if (status.phase === "Running") return { word: "running", tone: "running" };
  if (condition(pod, "PodScheduled")) return { word: "starting", tone: "waiting" };
  return { word: pod.spec.schedulingGates?.length ? "gated" : "waiting", tone: "waiting" };
}

const GANG_TONES = /** @type {Record<string, Tone>} */ ({
  Pending: "waiting", Running: "running", Completing: "running", Completed: "done", Failed: "failed",
  Aborted: "held", Aborting: "held", Restarting: "waiting", Terminating: "none", Terminated: "failed",
});

/** @param {any} gang @returns {State} */
export function gangState(gang) {
  const phase = gang.status?.state?.phase || "Pending";
  return { word: phase.toLowerCase(), tone: GANG_TONES[phase] ?? "none" };
}

/** @param {any} cronjob @returns {State} */
export function cronState(cronjob) {
  if (cronjob.spec.suspend) return { word: "suspended", tone: "held" };
  if (cronjob.status?.active?.length) return { word: "running", tone: "running" };
  return { word: "scheduled", tone: "waiting" };
}

/** @param {any} queue @returns {State} */
export function queueState(queue) {
  const state = queue.status?.state || "Open";
  return { word: state.toLowerCase(), tone: state === "Open" ? "running" : state === "Closing" ? "waiting" : "held" };
}

/** @param {any} flow @returns {State} */
export function flowState(flow) {
  const phase = flow.status?.state?.phase || "Pending";
  const tones = /** @type {Record<string, Tone>} */ ({ Succeed: "done", Running: "running", Failed: "failed", Terminating: "none" });
  return { word: phase === "Succeed" ? "complete" : phase.toLowerCase(), tone: tones[phase] ?? "waiting" };
}

/** @param {string} result of a finished Job @returns {State} */
export function resultState(result) {
  const tones = /** @type {Record<string, Tone>} */ ({ complete: "done", failed: "failed" });
  return { word: result, tone: tones[result] ?? "none" };
}

/** @type {Record<string, (object: any) => State>} */
export const STATE_OF = {
  jobs: jobState, pods: podState, gangs: gangState, cronjobs: cronState, queues: queueState, jobflows: flowState,
};

/** The end of a pod's main container that says most. @param {any} pod */
export function podEnd(pod) {
  const ends = (pod.status?.containerStatuses ?? [])
    .map((/** @type {any} */ each) => each.state?.terminated ?? each.lastState?.terminated)
    .filter(Boolean);
  return ends.find((/** @type {any} */ end) => end.exitCode !== 0) ?? ends[0];
}

/** The index of a pod of an Indexed Job; null of others. @param {any} pod @returns {number | null} */
export function podIndex(pod) {
  const text = pod.metadata.annotations?.["batch.kubernetes.io/job-completion-index"];
  return text === undefined ? null : Number(text);
}

/** When a pod began to run and ended, in milliseconds since 1970; null where it did not. @param {any} pod */
export function podTimes(pod) {
  const begun = [];
  const ended = [];
  for (const each of pod.status?.containerStatuses ?? []) {
    const state = each.state?.terminated ?? each.state?.running ?? each.lastState?.terminated;
    if (state?.startedAt) begun.push(Date.parse(state.startedAt));
    if (each.state?.terminated?.finishedAt) ended.push(Date.parse(each.state.terminated.finishedAt));
  }
  const over = pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
  return {
    created: Date.parse(pod.metadata.creationTimestamp),
    begun: begun.length ? Math.min(...begun) : null,
    ended: over && ended.length ? Math.max(...ended) : null,
    over,
  };
}
