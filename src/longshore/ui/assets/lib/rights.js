// The rights of the person who is logged in, so that buttons that would be refused are not shown.

import { post } from "./api.js";

/** @type {Map<string, any[] | null>} */
const rules = new Map();

export const rights = new EventTarget();

/** @param {string} namespace */
async function load(namespace) {
  rules.set(namespace, null);
  try {
    const body = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview", spec: { namespace: namespace || "default" } };
    const review = await post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", body);
    rules.set(namespace, review.status.resourceRules ?? []);
    rights.dispatchEvent(new Event("change"));
  } catch {
    rules.delete(namespace);
  }
}

/** @param {string[] | undefined} options @param {string} wanted */
const has = (options, wanted) => Boolean(options && (options.includes("*") || options.includes(wanted)));

/**
 * Whether the person may do this; no while it is not known yet (`rights` tells of a change then).
 * @param {string} verb @param {string} group @param {string} resource @param {string} [namespace]
 */
export function may(verb, group, resource, namespace = "") {
  const known = rules.get(namespace);
  if (known === undefined) load(namespace);
  const [, sub] = resource.split("/");
  return (known ?? []).some(
    (rule) =>
      !rule.resourceNames?.length &&
      has(rule.verbs, verb) &&
      has(rule.apiGroups, group) &&
      (has(rule.resources, resource) || (sub && rule.resources?.includes(`*/${sub}`))),
  );
}
