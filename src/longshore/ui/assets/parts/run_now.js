// A run of a CronJob outside its schedule: the Job that `kubectl create job --from` makes.

import { post } from "../lib/api.js";
import { KINDS, pathOf } from "../lib/kinds.js";

const MAX_NAME = 52;

/** @param {any} cronjob @returns {Promise<any>} */
export function runNow(cronjob) {
  const { name, namespace, uid } = cronjob.metadata;
  const template = cronjob.spec.jobTemplate;
  return post(pathOf(KINDS.jobs, namespace), {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      generateName: `${name.slice(0, MAX_NAME)}-`,
      namespace,
      labels: template.metadata?.labels,
      annotations: { ...template.metadata?.annotations, "cronjob.kubernetes.io/instantiate": "manual" },
      ownerReferences: [{ apiVersion: "batch/v1", kind: "CronJob", name, uid, controller: true }],
    },
    spec: template.spec,
  });
}
