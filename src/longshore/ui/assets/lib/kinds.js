// The kinds that the dashboard shows: where the API has them, and which page is theirs.

/**
 * @typedef {object} Kind
 * @property {string} id        the first word of its pages' addresses
 * @property {string} group
 * @property {string} version
 * @property {string} plural
 * @property {string} kind
 * @property {string} one       for people
 * @property {string} many
 * @property {boolean} namespaced
 * @property {string} [why]     its word in the names of explanations
 */

/** @type {Record<string, Kind>} */
export const KINDS = {};

/** @param {string} id @param {string} group @param {string} version @param {string} plural @param {string} kind
 *  @param {string} one @param {string} many @param {string} [why] @param {boolean} [namespaced] */
function add(id, group, version, plural, kind, one, many, why, namespaced = true) {
  KINDS[id] = { id, group, version, plural, kind, one, many, namespaced, why };
}

add("jobs", "batch", "v1", "jobs", "Job", "Job", "Jobs", "job");
add("cronjobs", "batch", "v1", "cronjobs", "CronJob", "CronJob", "CronJobs", "cronjob");
add("gangs", "batch.volcano.sh", "v1alpha1", "jobs", "Job", "gang", "Gangs", "vcjob");
add("pods", "", "v1", "pods", "Pod", "pod", "Pods", "pod");
add("queues", "scheduling.volcano.sh", "v1beta1", "queues", "Queue", "queue", "Queues", "queue", false);
add("jobflows", "flow.volcano.sh", "v1alpha1", "jobflows", "JobFlow", "JobFlow", "JobFlows", "jobflow");
add("jobtemplates", "flow.volcano.sh", "v1alpha1", "jobtemplates", "JobTemplate", "JobTemplate", "JobTemplates");
add("podgroups", "scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup", "PodGroup", "PodGroups", "podgroup");
add("nodes", "", "v1", "nodes", "Node", "node", "Nodes", undefined, false);
add("events", "", "v1", "events", "Event", "event", "Events");
add("namespaces", "", "v1", "namespaces", "Namespace", "namespace", "Namespaces", "namespace", false);

/** The address of a collection, or of one object. @param {Kind} kind @param {string} [namespace] @param {string} [name] */
export function pathOf(kind, namespace = "", name = "") {
  const root = kind.group ? `/apis/${kind.group}/${kind.version}` : `/api/${kind.version}`;
  const where = kind.namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${root}${where}/${kind.plural}${name ? `/${encodeURIComponent(name)}` : ""}`;
}

/** The address of the page of an object. @param {string} id @param {any} object */
export function pageOf(id, object) {
  const { namespace, name } = object.metadata;
  return pageAt(id, namespace, name);
}

/** @param {string} id @param {string | undefined} namespace @param {string} name */
export function pageAt(id, namespace, name) {
  const parts = KINDS[id].namespaced ? [id, namespace ?? "", name] : [id, name];
  return `/ui/${parts.map(encodeURIComponent).join("/")}`;
}

/** The address of a document of longshore's own. @param {string} plural @param {string} [namespace] @param {string} [name] */
export function ownPath(plural, namespace = "", name = "") {
  const where = namespace ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `/apis/longshore.dev/v1${where}/${plural}${name ? `/${encodeURIComponent(name)}` : ""}`;
}

/** Which page shows an object that another refers to. @param {{apiVersion?: string, kind?: string}} ref */
export function kindOf(ref) {
  return Object.values(KINDS).find(
    (kind) => kind.kind === ref.kind && (ref.apiVersion ?? "v1") === (kind.group ? `${kind.group}/${kind.version}` : kind.version),
  );
}
