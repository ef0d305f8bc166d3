// The deeds for objects of a kind, with the rights they need and the question before them.

import { patch, post, remove } from "../lib/api.js";
import { counted } from "../lib/format.js";
import { KINDS, ownPath, pathOf } from "../lib/kinds.js";
import { may } from "../lib/rights.js";
import { here } from "../lib/router.js";
import { jobEnded, jobState } from "../lib/states.js";
import { confirmed } from "./confirm.js";
import { runNow } from "./run_now.js";
import { tried } from "./toast.js";

/**
 * @typedef {object} Action
 * @property {string} id
 * @property {string} title
 * @property {string} icon
 * @property {string} done                       `suspended`
 * @property {[string, string][]} needs          verbs and resources of the kind's group
 * @property {(object: any) => boolean} fits
 * @property {(object: any) => Promise<any>} act
 * @property {string} [note]                     for the question
 * @property {boolean} [danger]
 */

/** @param {string} id @param {boolean} suspend */
const suspending = (id, suspend) => (/** @type {any} */ object) =>
  patch(pathOf(KINDS[id], object.metadata.namespace, object.metadata.name), { spec: { suspend } });

/** @param {string} id @returns {Action} */
const deletion = (id) => ({
  id: "delete", title: "Delete", icon: "trash", done: "deleted", danger: true, needs: [["delete", KINDS[id].plural]], fits: () => true,
  note: id === "pods" ? "A pod of a Job is replaced." : "Its pods go too.",
  act: (object) => remove(pathOf(KINDS[id], object.metadata.namespace, object.metadata.name)),
});

/** @param {string} word */
const command = (word) => (/** @type {any} */ gang) =>
  post("/apis/bus.volcano.sh/v1alpha1/namespaces/" + encodeURIComponent(gang.metadata.namespace) + "/commands", {
    apiVersion: "bus.volcano.sh/v1alpha1", kind: "Command", action: word,
    metadata: { generateName: `${gang.metadata.name}-${word.toLowerCase()}-`, ownerReferences: [ownerOf(gang)] }, target: ownerOf(gang),
  });

/** @param {any} gang */
const ownerOf = (gang) => ({ apiVersion: "batch.volcano.sh/v1alpha1", kind: "Job", name: gang.metadata.name, uid: gang.metadata.uid, controller: true, blockOwnerDeletion: true });

const gangRuns = (/** @type {any} */ gang) => ["Pending", "Running", "Restarting"].includes(gang.status?.state?.phase ?? "Pending");

/** @type {Record<string, Action[]>} */
const ACTIONS = {
  jobs: [
    { id: "suspend", title: "Suspend", icon: "held", done: "suspended", needs: [["patch", "jobs"]], note: "Its running pods are stopped.", fits: (job) => !jobEnded(job) && !job.spec.suspend, act: suspending("jobs", true) },
    { id: "resume", title: "Resume", icon: "running", done: "resumed", needs: [["patch", "jobs"]], fits: (job) => !jobEnded(job) && Boolean(job.spec.suspend), act: suspending("jobs", false) },
    { id: "retry", title: "Retry", icon: "retry", done: "retried", needs: [["create", "jobs"], ["patch", "jobs"], ["patch", "jobs/status"]], note: "A new Job runs what did not complete.",
      fits: (job) => jobState(job).word === "failed", act: (job) => post(ownPath("jobretries", job.metadata.namespace), { job: job.metadata.name }) },
    deletion("jobs"),
  ],
  cronjobs: [
    { id: "run", title: "Run now", icon: "running", done: "started", needs: [["create", "jobs"]], fits: () => true, act: runNow },
    { id: "suspend", title: "Suspend", icon: "held", done: "suspended", needs: [["patch", "cronjobs"]], fits: (one) => !one.spec.suspend, act: suspending("cronjobs", true) },
    { id: "resume", title: "Resume", icon: "running", done: "resumed", needs: [["patch", "cronjobs"]], fits: (one) => Boolean(one.spec.suspend), act: suspending("cronjobs", false) },
    deletion("cronjobs"),
  ],
  gangs: [
    { id: "suspend", title: "Suspend", icon: "held", done: "told to abort", needs: [["create", "commands"]], note: "Its pods are stopped.", fits: gangRuns, act: command("AbortJob") },
    { id: "resume", title: "Resume", icon: "running", done: "resumed", needs: [["create", "commands"]], fits: (gang) => gang.status?.state?.phase === "Aborted", act: command("ResumeJob") },
    deletion("gangs"),
  ],
  pods: [deletion("pods")],
  jobflows: [deletion("jobflows")],
  queues: [],
};

/** The deeds that the person may do: with all kinds of objects if there are none given. @param {string} id @param {any[] | null} objects */
export function actionsFor(id, objects) {
  const namespace = objects?.[0]?.metadata.namespace ?? here().query.get("ns") ?? "";
  return (ACTIONS[id] ?? []).filter((action) => {
    if (objects && !objects.some(action.fits)) return false;
    return action.needs.every(([verb, resource]) => may(verb, resource === "commands" ? "bus.volcano.sh" : KINDS[id].group, resource, namespace));
  });
}

/** Asks, does it to each, says how it went. @param {string} id @param {Action} action @param {any[]} objects */
export async function perform(id, action, objects) {
  const meant = objects.filter(action.fits);
  const names = meant.map((each) => (each.metadata.namespace ? `${each.metadata.namespace}/${each.metadata.name}` : each.metadata.name));
  const what = meant.length === 1 ? `${KINDS[id].one} ${meant[0].metadata.name}` : counted(meant.length, KINDS[id].one, KINDS[id].many);
  const sure = await confirmed({ title: `${action.title} ${what}?`, text: action.note, names, action: action.title, danger: action.danger });
  if (!sure) return false;
  return tried(async () => {
    const said = [];
    for (const object of meant) {
      const made = await action.act(object);
      if (action.id === "retry" || action.id === "run") said.push(made.status?.job ?? made.metadata.name);
    }
    return said.length ? `${what}: ${action.done} as ${said.join(", ")}` : `${what}: ${action.done}`;
  });
}
