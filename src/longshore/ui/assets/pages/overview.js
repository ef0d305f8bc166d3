// The overview: problems first, then what runs and waits, what ended when, how full the machine is, what happened last.

import { get } from "../lib/api.js";
import { ago, amount, clock, counted, now, number, quantity, seconds } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { KINDS, ownPath, pageOf } from "../lib/kinds.js";
import { live } from "../lib/live.js";
import { here, router } from "../lib/router.js";
import { condition, gangState, jobEnded, jobState, podState } from "../lib/states.js";
import { h, View } from "../lib/view.js";
import { columnChart, shareBar, spark } from "../parts/charts.js";
import { eventList } from "../parts/events.js";
import { panel } from "../parts/object_page.js";

const SAMPLES = 120;
const SAMPLE_MS = 5000;
const HOUR = 3600;
const SHOWN_PROBLEMS = 8;

class Overview extends View {
  start() {
    document.title = "longshore";
    this.window = "hour";
    /** @type {any[]} */
    this.finished = [];
    /** @type {{cpu: number, memory: number}[]} */
    this.samples = [];
    /** @type {Map<string, number[]>} */
    this.queueSamples = new Map();
    router.addEventListener("change", () => this.moved(), { signal: this.scope?.signal });
    this.nodes = live(this, KINDS.nodes);
    this.queues = live(this, KINDS.queues);
    this.moved();
    this.every(SAMPLE_MS, () => this.sample());
    this.every(1000);
    this.sample();
  }

  moved() {
    const namespace = here().query.get("ns") ?? "";
    if (here().parts.length || (this.jobs && namespace === this.namespace)) return;
    this.namespace = namespace;
    this.watching?.abort();
    this.watching = new AbortController();
    this.scope?.signal.addEventListener("abort", () => this.watching.abort());
    const view = { scope: this.watching, draw: () => this.draw() };
    this.jobs = live(view, KINDS.jobs, { namespace });
    this.gangs = live(view, KINDS.gangs, { namespace });
    this.pods = live(view, KINDS.pods, { namespace, fields: "status.phase!=Succeeded" });
    this.groups = live(view, KINDS.podgroups, { namespace });
    this.events = live(view, KINDS.events, { namespace });
    this.recall();
  }

  async recall() {
    try {
      this.finished = (await get(ownPath("finishedjobs", this.namespace), {}, this.scope?.signal)).items;
      this.draw();
    } catch {
      // Without the right to read the history, the Jobs that are still there have to do.
    }
  }

  async sample() {
    for (const queue of this.queues?.all ?? []) {
      const seen = this.queueSamples.get(queue.metadata.name) ?? [];
      seen.push(quantity(queue.status?.allocated?.cpu));
      this.queueSamples.set(queue.metadata.name, seen.slice(-SAMPLES));
    }
    this.recall();
    try {
      const { items } = await get("/apis/metrics.k8s.io/v1beta1/nodes", {}, this.scope?.signal);
      const sum = (/** @type {string} */ what) => items.reduce((/** @type {number} */ total, /** @type {any} */ each) => total + quantity(each.usage[what]), 0);
      this.samples.push({ cpu: sum("cpu"), memory: sum("memory") });
      this.samples = this.samples.slice(-SAMPLES);
    } catch {
      // Not every longshore has a node.
    }
    this.draw();
  }

  view() {
    const jobs = this.jobs?.all ?? [];
    const states = tally([...jobs.map((job) => jobState(job).word), ...(this.gangs?.all ?? []).filter((gang) => ["running", "waiting"].includes(gangState(gang).tone)).map((gang) => gangState(gang).tone)]);
    const ended = this.ended(jobs);
    const since = (/** @type {string} */ result, /** @type {number} */ span) => ended.filter((each) => each.result === result && now() - each.at < span).length;
    const pods = tally((this.pods?.all ?? []).map((pod) => podState(pod).tone));
    const figure = (/** @type {number} */ value, /** @type {string} */ word, /** @type {string} */ tone, /** @type {string} */ href) => h("a", { class: `figure ${value ? tone : "zero"}`, key: word, href }, h("b", null, number(value)), h("span", null, word));
    return h("section", { class: "overview", "aria-labelledby": "title" },
      h("div", { class: "page-head" }, h("h1", { id: "title" }, "Overview"), h("span", { class: "count" }, this.namespace || "all namespaces")),
      this.problems(),
      h("section", { class: "panel", "aria-label": "Numbers", key: "numbers" }, h("div", { class: "figures-row" },
        figure(states.running ?? 0, "Jobs run", "running", "/ui/jobs?state=running"), figure(states.waiting ?? 0, "Jobs wait", "waiting", "/ui/jobs?state=waiting"), figure(states.suspended ?? 0, "suspended", "held", "/ui/jobs?state=suspended"),
        figure(pods.running ?? 0, "pods run", "running", "/ui/pods?state=running"), figure(since("failed", HOUR), "failed, last hour", "failed", "/ui/history?result=failed"), figure(since("failed", 24 * HOUR), "failed, last day", "failed", "/ui/history?result=failed"),
        figure(since("complete", HOUR), "done, last hour", "done", "/ui/history?result=complete"), figure(since("complete", 24 * HOUR), "done, last day", "done", "/ui/history?result=complete"))),
      h("div", { class: "columns even", key: "charts" },
        panel("Jobs that ended", this.throughput(ended), h("div", { class: "chips", role: "group", "aria-label": "Time span" }, ["hour", "day"].map((each) =>
          h("button", { key: each, type: "button", class: "chip", "aria-pressed": String(this.window === each), onclick: () => ((this.window = each), this.draw()) }, `last ${each}`)))),
        panel("The machine", this.machine(), h("span", { class: "hint" }, this.samples.length > 1 ? `last ${counted(Math.round((this.samples.length * SAMPLE_MS) / 60000) || 1, "minute")}` : ""))),
      h("div", { class: "columns even", key: "lower" },
        panel("Newest events", eventList(this.events?.all ?? [], Boolean(this.events?.ready), true, 12)),
        panel("Queues", this.queueBars())));
  }

  problems() {
    const found = [...waitingPods(this.pods?.all ?? []), ...waitingGangs(this.gangs?.all ?? [], this.groups?.all ?? []), ...failedJobs(this.jobs?.all ?? [])];
    if (!found.length) return this.jobs?.ready ? h("div", { class: "notice done", key: "problems" }, icon("done"), h("p", null, "No problems: nothing waits for what it cannot get, and no Job has failed in the last hour.")) : null;
    return h("section", { class: "panel problems", "aria-label": "Problems", key: "problems" }, h("h2", null, icon("alert"), "Problems"),
      h("ul", null, found.slice(0, SHOWN_PROBLEMS).map((each) => h("li", { key: each.text, class: each.tone }, icon(each.tone), h("span", null, h("a", { href: each.href }, each.text), h("span", { class: "hint" }, each.more))))),
      found.length > SHOWN_PROBLEMS && h("p", { class: "hint" }, `and ${found.length - SHOWN_PROBLEMS} more`));
  }

  /** The ends of Jobs that are known: of those that are there, and of those that are gone. @param {any[]} jobs */
  ended(jobs) {
    const out = new Map();
    for (const each of this.finished ?? []) out.set(each.metadata.uid, { result: each.result, at: seconds(each.endTime) });
    for (const job of jobs) {
      if (!jobEnded(job)) continue;
      const end = condition(job, "Complete") ?? condition(job, "Failed");
      out.set(job.metadata.uid, { result: end.type === "Complete" ? "complete" : "failed", at: seconds(end.lastTransitionTime) });
    }
    return [...out.values()];
  }

  /** @param {{result: string, at: number}[]} ended */
  throughput(ended) {
    const [count, size] = this.window === "hour" ? [60, 60] : [48, 1800];
    const last = Math.floor(now() / size);
    const columns = Array.from({ length: count }, (_, i) => ({ at: (last - count + 1 + i) * size, done: 0, failed: 0, other: 0 }));
    for (const { result, at } of ended) {
      const column = columns[Math.floor(at / size) - last + count - 1];
      if (column) column[result === "complete" ? "done" : result === "failed" ? "failed" : "other"]++;
    }
    const total = columns.reduce((sum, each) => sum + each.done + each.failed, 0);
    return [
      columnChart(columns.map((each) => ({ title: `${clock(each.at).replace(/:\d\d$/, "")}: ${each.done} complete, ${each.failed} failed`, values: [{ tone: "done", value: each.done }, { tone: "failed", value: each.failed }, { tone: "none", value: each.other }] })), `Jobs that ended in the last ${this.window}: ${total}`),
      h("ul", { class: "legend" }, h("li", null, h("span", { class: "swatch fill-done" }), "complete"), h("li", null, h("span", { class: "swatch fill-failed" }), "failed"), h("li", { class: "hint" }, `${number(total)} in all, ${(total / (this.window === "hour" ? 60 : 24)).toFixed(1)} a ${this.window === "hour" ? "minute" : "hour"}`)),
    ];
  }

  machine() {
    const nodes = this.nodes?.all ?? [];
    if (!nodes.length) return h("p", { class: "hint" }, this.nodes?.ready ? "There is no node here: pods wait." : "loading …");
    const has = (/** @type {string} */ what) => nodes.reduce((sum, node) => sum + quantity(node.status?.allocatable?.[what]), 0);
    const asked = (/** @type {string} */ what) => (this.pods?.all ?? []).filter((pod) => pod.spec.nodeName && pod.status?.phase !== "Failed").reduce((sum, pod) => sum + pod.spec.containers.reduce((/** @type {number} */ inner, /** @type {any} */ each) => inner + quantity(each.resources?.requests?.[what]), 0), 0);
    const latest = this.samples.at(-1);
    return h("div", { class: "meters" }, [["CPU", "cpu"], ["Memory", "memory"]].map(([title, what]) => {
      const used = latest?.[/** @type {"cpu" | "memory"} */ (what)] ?? 0;
      const said = `${amount(what, used)} of ${amount(what, has(what))} in use`;
      return h("div", { key: what }, h("div", { class: "share-head" }, h("span", null, title), h("span", { class: "hint" }, said)), spark(this.samples.map((each) => each[/** @type {"cpu" | "memory"} */ (what)]), has(what), `${title}: ${said}`), h("p", { class: "hint" }, `pods ask for ${amount(what, asked(what))}`));
    }));
  }

  queueBars() {
    const nodes = this.nodes?.all ?? [];
    const cpus = nodes.reduce((sum, node) => sum + quantity(node.status?.allocatable?.cpu), 0);
    const queues = (this.queues?.all ?? []).filter((queue) => queue.metadata.name !== "root");
    if (!queues.length) return h("p", { class: "hint" }, "There are no queues.");
    return h("div", { class: "shares" }, queues.map((queue) => {
      const used = quantity(queue.status?.allocated?.cpu);
      const cap = queue.spec.capability?.cpu ? quantity(queue.spec.capability.cpu) : cpus;
      return h("a", { key: queue.metadata.name, class: "plain", href: pageOf("queues", queue) },
        shareBar({ label: queue.metadata.name, used, whole: cap, said: `${amount("cpu", used)} of ${amount("cpu", cap)} CPU` }), (this.queueSamples.get(queue.metadata.name)?.some((each) => each > 0)) && spark(this.queueSamples.get(queue.metadata.name) ?? [], cap, `CPU of queue ${queue.metadata.name} over time`, 24));
    }));
  }
}

/** @param {string[]} words @returns {Record<string, number>} */
function tally(words) {
  /** @type {Record<string, number>} */
  const out = {};
  for (const word of words) out[word] = (out[word] ?? 0) + 1;
  return out;
}

/** What pods wait for, in the scheduler's words, with their number. @param {any[]} pods */
function waitingPods(pods) {
  /** @type {Map<string, any[]>} */
  const groups = new Map();
  for (const pod of pods) {
    const unscheduled = (pod.status?.conditions ?? []).find((/** @type {any} */ each) => each.type === "PodScheduled" && each.status === "False" && each.reason === "Unschedulable");
    const state = podState(pod);
    const reason = unscheduled ? shortReason(unscheduled.message ?? "") : state.tone === "failed" && pod.status?.phase !== "Failed" ? state.word : "";
    if (!reason) continue;
    const same = groups.get(reason);
    if (same) same.push(pod);
    else groups.set(reason, [pod]);
  }
  return [...groups].sort((a, b) => b[1].length - a[1].length).map(([reason, some]) => ({
    tone: "waiting", text: `${counted(some.length, "pod waits", "pods wait")}: ${reason}`, more: some.length === 1 ? some[0].metadata.name : "",
    href: some.length === 1 ? pageOf("pods", some[0]) : "/ui/pods?state=waiting",
  }));
}

/** `0/1 nodes are available: 1 Insufficient memory. …` is `Insufficient memory`. @param {string} message */
function shortReason(message) {
  const match = /nodes are available: (.*?)\.(?: |$)/.exec(message);
  return match ? match[1].replace(/\b\d+ (?=[A-Z])/g, "") : message.slice(0, 120);
}

/** @param {any[]} gangs @param {any[]} groups */
function waitingGangs(gangs, groups) {
  return gangs.filter((gang) => gangState(gang).word === "pending").map((gang) => {
    const group = groups.find((each) => each.metadata.ownerReferences?.[0]?.uid === gang.metadata.uid);
    const why = (group?.status?.conditions ?? []).find((/** @type {any} */ each) => each.type === "Unschedulable" && each.status === "True");
    return { tone: "waiting", text: `gang ${gang.metadata.name} waits for ${counted(gang.spec.minAvailable ?? 1, "pod")}${why ? `: ${why.message}` : ""}`, more: ago(gang.metadata.creationTimestamp), href: pageOf("gangs", gang) };
  });
}

/** @param {any[]} jobs */
function failedJobs(jobs) {
  return jobs.map((job) => ({ job, end: condition(job, "Failed") })).filter(({ end }) => end && now() - seconds(end.lastTransitionTime) < HOUR)
    .sort((a, b) => (a.end.lastTransitionTime < b.end.lastTransitionTime ? 1 : -1))
    .map(({ job, end }) => ({ tone: "failed", text: `Job ${job.metadata.name} failed: ${end.reason}`, more: ago(end.lastTransitionTime), href: pageOf("jobs", job) }));
}

customElements.define("ls-overview", Overview);
