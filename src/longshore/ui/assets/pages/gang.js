// A gang: its tasks and their pods, what it needs before it starts, its phases, and the queue it is in.

import { amount, clock, counted, quantity } from "../lib/format.js";
import { badge, icon } from "../lib/icons.js";
import { timelineOf } from "../lib/job_timeline.js";
import { KINDS, pageAt, pageOf } from "../lib/kinds.js";
import { live } from "../lib/live.js";
import { gangState, podState } from "../lib/states.js";
import { h } from "../lib/view.js";
import "../parts/gantt.js";
import "../parts/logs.js";
import { ObjectPage, facts, panel } from "../parts/object_page.js";
import { queueShares } from "../parts/queue_shares.js";
import "../parts/story.js";

const TASK = "volcano.sh/task-spec";

class Gang extends ObjectPage {
  get word() {
    return "gangs";
  }

  begin() {
    this.pods = live(this, KINDS.pods, { namespace: this.namespace, labels: `volcano.sh/job-name=${this.name}` });
    this.groups = live(this, KINDS.podgroups, { namespace: this.namespace });
    this.queues = live(this, KINDS.queues);
    this.nodes = live(this, KINDS.nodes);
  }

  tabs() {
    return /** @type {[string, string][]} */ ([["", "Tasks"], ["logs", "Logs"], ["events", "Events"], ["yaml", "YAML"]]);
  }

  /** @param {string} tab */
  tab(tab) {
    if (tab === "logs") return h("ls-logs", { class: "panel", key: "logs", ".pods": this.pods?.all ?? [], ".name": this.name });
    return tab ? super.tab(tab) : this.overview();
  }

  more() {
    const queue = this.object.spec.queue ?? "default";
    return h("span", null, "queue ", h("a", { href: pageAt("queues", "", queue) }, queue));
  }

  overview() {
    const { spec, status = {} } = this.object;
    const pods = this.pods?.all ?? [];
    const group = this.groups?.all.find((/** @type {any} */ each) => each.metadata.ownerReferences?.some((/** @type {any} */ owner) => owner.uid === this.object.metadata.uid));
    const blocked = (group?.status?.conditions ?? []).find((/** @type {any} */ each) => each.type === "Unschedulable" && each.status === "True");
    const waits = gangState(this.object).word === "pending";
    const queue = this.queues?.all.find((/** @type {any} */ each) => each.metadata.name === (spec.queue ?? "default"));
    return [
      waits && h("div", { class: "notice waiting", key: "waits" }, icon("waiting"), h("p", null, h("b", null, `Waits for ${counted(spec.minAvailable ?? 1, "pod")} at once. `), blocked ? blocked.message : this.wants(group))),
      h("div", { class: "columns", key: "columns" },
        h("div", { class: "wide" },
          panel("Tasks", spec.tasks.map((/** @type {any} */ task) => this.task(task, pods)), h("span", { class: "hint" }, `needs ${counted(spec.minAvailable ?? 0, "pod")} to start`)),
          pods.length > 0 && panel("Timeline", h("ls-gantt", { key: "gantt", ".timeline": this.timeline(pods) })),
          panel("Phases", this.phases(status)),
          panel("Policies", this.policies(spec))),
        h("div", { class: "narrow" },
          panel("Why", h("ls-story", { key: "story", ".kind": this.kind, ".namespace": this.namespace, ".name": this.name, ".version": this.object.metadata.resourceVersion })),
          group && panel("PodGroup", facts([["Phase", group.status?.phase], ["Needs", counted(group.spec.minMember ?? 0, "pod")], ["Needs of CPU", group.spec.minResources?.cpu && amount("cpu", quantity(group.spec.minResources.cpu))], ["Needs of memory", group.spec.minResources?.memory && amount("memory", quantity(group.spec.minResources.memory))], ["Running", group.status?.running]])),
          queue && panel(`Queue ${queue.metadata.name}`, queueShares(queue, this.nodes?.all ?? [])))),
    ];
  }

  /** @param {any} group */
  wants(group) {
    const needed = group?.spec.minResources ?? {};
    const said = ["cpu", "memory"].filter((what) => needed[what]).map((what) => `${amount(what, quantity(needed[what]))}${what === "cpu" ? " CPU" : " of memory"}`);
    const nodes = this.nodes?.all ?? [];
    const has = (/** @type {string} */ what) => nodes.reduce((sum, node) => sum + quantity(node.status?.allocatable?.[what]), 0);
    const short = ["cpu", "memory"].filter((what) => needed[what] && quantity(needed[what]) > has(what)).map((what) => `${amount(what, has(what))}${what === "cpu" ? " CPU" : " of memory"}`);
    return said.length ? `They need ${said.join(" and ")}${short.length ? `; all nodes together have ${short.join(" and ")}` : ""}.` : "";
  }

  /** A row of squares, one a pod, with a line after those that must be there. @param {any} task @param {any[]} pods */
  task(task, pods) {
    const mine = pods.filter((pod) => (pod.metadata.annotations?.[TASK] ?? pod.metadata.labels?.[TASK]) === task.name).sort((a, b) => numberOf(a) - numberOf(b));
    const least = task.minAvailable ?? task.replicas ?? 1;
    const squares = Array.from({ length: Math.max(task.replicas ?? 1, mine.length) }, (_, i) => {
      const pod = mine.find((each) => numberOf(each) === i);
      const state = pod ? podState(pod) : { word: "not created", tone: "none" };
      const title = `${pod?.metadata.name ?? `${task.name} ${i}`}: ${state.word}`;
      return [i === least && h("span", { key: "least", class: "least", title: `${least} must be there` }), pod ? h("a", { key: i, class: `square fill-${state.tone}`, href: pageOf("pods", pod), title, "aria-label": title }) : h("span", { key: i, class: "square fill-none", role: "img", title, "aria-label": title })];
    });
    const count = mine.filter((pod) => ["running", "done"].includes(podState(pod).tone)).length;
    return h("div", { class: "task", key: task.name }, h("div", { class: "share-head" }, h("b", null, task.name), h("span", { class: "hint" }, `${count} of ${task.replicas ?? 1} up; ${least} needed`)), h("div", { class: "squares" }, squares));
  }

  /** @param {any[]} pods */
  timeline(pods) {
    const id = `${this.pods?.changes} ${Math.floor(Date.now() / 1000)}`;
    if (id !== this.timelineAt) {
      this.timelineAt = id;
      this.made = timelineOf(pods, `Pods of ${this.name}`);
    }
    return this.made;
  }

  /** @param {any} status */
  phases(status) {
    const list = status.conditions ?? [];
    if (!list.length) return h("p", { class: "hint" }, "None yet.");
    return [h("ol", { class: "phases" }, list.map((/** @type {any} */ each, /** @type {number} */ i) => h("li", { key: i }, badge(gangState({ status: { state: { phase: each.status } } })), h("time", { class: "hint" }, clock(each.lastTransitionTime))))),
      status.state?.reason && h("p", { class: "hint" }, `${status.state.reason}: ${status.state.message ?? ""}`), status.retryCount ? h("p", { class: "hint" }, `restarted ${counted(status.retryCount, "time")}`) : null];
  }

  /** @param {any} spec */
  policies(spec) {
    const all = [...(spec.policies ?? []).map((/** @type {any} */ each) => ({ ...each, of: "the gang" })), ...spec.tasks.flatMap((/** @type {any} */ task) => (task.policies ?? []).map((/** @type {any} */ each) => ({ ...each, of: `task ${task.name}` })))];
    if (!all.length) return h("p", { class: "hint" }, "None are set.");
    return h("ul", { class: "plain-list" }, all.map((each, i) => h("li", { key: i }, `${each.of}: on `, h("b", null, each.event ?? (each.events ?? []).join(" or ") ?? ""), each.exitCode !== undefined && h("b", null, `exit code ${each.exitCode}`), " do ", h("b", null, each.action))));
  }
}

/** @param {any} pod */
const numberOf = (pod) => Number(/-(\d+)$/.exec(pod.metadata.name)?.[1] ?? 0);

customElements.define("ls-gang", Gang);
