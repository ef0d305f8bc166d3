// How much of its share a queue uses: allocated, deserved, its limit, for each resource.

import { amount, quantity } from "../lib/format.js";
import { h } from "../lib/view.js";
import { shareBar } from "./charts.js";

/** @param {any} queue @param {any[]} nodes */
export function queueShares(queue, nodes) {
  const { spec, status = {} } = queue;
  const names = ["cpu", "memory", ...Object.keys({ ...spec.capability, ...spec.deserved, ...status.allocated }).filter((name) => !["cpu", "memory", "pods"].includes(name) && !name.startsWith("count/"))];
  return h("div", { class: "shares" }, [...new Set(names)].map((what) => {
    const has = nodes.reduce((sum, node) => sum + quantity(node.status?.allocatable?.[what]), 0);
    const used = quantity(status.allocated?.[what]);
    const limit = spec.capability?.[what] !== undefined ? quantity(spec.capability[what]) : NaN;
    const deserved = spec.deserved?.[what] !== undefined ? quantity(spec.deserved[what]) : NaN;
    const guaranteed = spec.guarantee?.resource?.[what] !== undefined ? quantity(spec.guarantee.resource[what]) : NaN;
    const whole = Math.max(has, used, limit || 0, deserved || 0) || 1;
    const marks = [];
    const said = [`${amount(what, used)} allocated`];
    for (const [word, value] of /** @type {[string, number][]} */ ([["guaranteed", guaranteed], ["deserved", deserved], ["limit", limit]])) {
      if (!Number.isFinite(value)) continue;
      marks.push({ at: value, title: `${word} ${amount(what, value)}` });
      said.push(`${word} ${amount(what, value)}`);
    }
    if (has) said.push(`cluster ${amount(what, has)}`);
    return shareBar({ label: what === "cpu" ? "CPU" : what === "memory" ? "Memory" : what, used, whole, said: said.join(", "), marks });
  }));
}
