// A Job: how far it is, its indexes, its pods over time, its story, its logs.

import { get } from "../lib/api.js";
import { clock, counted, number, seconds, span } from "../lib/format.js";
import { badge, icon } from "../lib/icons.js";
import { mark, parse } from "../lib/indexes.js";
import { timelineOf } from "../lib/job_timeline.js";
import { KINDS, pageAt, pageOf, pathOf } from "../lib/kinds.js";
import { live } from "../lib/live.js";
import { setQuery, here } from "../lib/router.js";
import { jobEnded, podEnd, podIndex, podState, podTimes } from "../lib/states.js";
import { h } from "../lib/view.js";
import "../parts/gantt.js";
import "../parts/index_grid.js";
import "../parts/logs.js";
import { ObjectPage, facts, panel } from "../parts/object_page.js";
import { parts } from "../parts/progress.js";
import "../parts/story.js";
import "../parts/table.js";
import { COLUMNS, jobSpan } from "./columns.js";

const MANY = 2000;
const JOB_LABEL = "batch.kubernetes.io/controller-uid";
const INDEX_LABEL = "batch.kubernetes.io/job-completion-index";

class Job extends ObjectPage {
  get word() {
    return "jobs";
  }

  begin() {
    this.details = new Map();
    this.states = new Uint8Array();
  }

  get large() {
    return (this.object.spec.completions ?? 0) > MANY;
  }

  news() {
    if (!this.object) return;
    if (!this.pods) {
      // Of a large Job the pods that have succeeded are counted by its status, and read one by one when they are pointed at.
      this.pods = live(this, KINDS.pods, { namespace: this.namespace, labels: `${JOB_LABEL}=${this.object.metadata.uid}`, fields: this.large ? "status.phase!=Succeeded" : "" });
    }
  }

  tabs() {
    return /** @type {[string, string][]} */ ([["", "Progress"], ["logs", "Logs"], ["pods", "Pods"], ["events", "Events"], ["yaml", "YAML"]]);
  }

  /** @param {string} tab */
  tab(tab) {
    const pods = this.pods?.all ?? [];
    if (tab === "logs") return h("ls-logs", { class: "panel", key: "logs", ".pods": pods, ".name": this.name });
    if (tab === "pods") return h("ls-table", { class: "panel", key: "pods", ".label": "Pods", ".rows": pods, ".columns": COLUMNS.pods, ".idOf": (/** @type {any} */ pod) => pod.metadata.uid, ".hrefOf": (/** @type {any} */ pod) => pageOf("pods", pod) });
    return tab ? super.tab(tab) : this.progress(pods);
  }

  more() {
    const { annotations = {} } = this.object.metadata;
    const [of, by] = [annotations["longshore.dev/retry-of"], annotations["longshore.dev/retried-by"]];
    return [of && h("span", { key: "of" }, "retry of ", h("a", { href: pageAt("jobs", this.namespace, of) }, of)), by && h("span", { key: "by" }, "retried by ", h("a", { href: pageAt("jobs", this.namespace, by) }, by))];
  }

  /** @param {any[]} pods */
  progress(pods) {
    const { spec, status = {} } = this.object;
    const indexed = spec.completionMode === "Indexed" && spec.completions !== undefined;
    if (indexed) this.readStates(pods);
    const open = here().query.get("index");
    return [
      this.summary(),
      (status.conditions ?? []).filter((/** @type {any} */ each) => each.type === "Failed" && each.status === "True").map((/** @type {any} */ each) =>
        h("div", { class: "notice failed", key: "failed" }, icon("failed"), h("p", null, h("b", null, each.reason), " ", each.message))),
      h("div", { class: "columns" },
        h("div", { class: "wide" },
          indexed && panel(`Indexes`, [
            h("ls-index-grid", { key: "grid", ".states": this.states, ".version": this.statesAt, ".detail": (/** @type {number} */ index) => this.detail(index), ".onhover": (/** @type {number} */ index) => this.wonder(index), ".onopen": (/** @type {number} */ index) => setQuery({ index: String(index) }) }),
            open !== null && this.attempts(Number(open))], h("span", { class: "hint" }, counted(spec.completions, "index", "indexes"))),
          panel("Timeline", pods.length ? h("ls-gantt", { key: "gantt", ".timeline": this.timeline(pods), ".onopen": (/** @type {any} */ row) => this.openRow(row) }) : h("p", { class: "hint" }, "There are no pods (any more)."),
            this.large && h("span", { class: "hint" }, "without pods that have succeeded")),
          (status.conditions ?? []).length > 0 && panel("Conditions", h("ul", { class: "plain-list" }, status.conditions.map((/** @type {any} */ each) => h("li", { key: each.type }, h("b", null, each.type), ` ${each.status === "True" ? "yes" : "no"}`, h("time", { class: "hint" }, ` since ${clock(each.lastTransitionTime)}`), each.reason && ` ${each.reason}`, each.message && h("span", { class: "hint" }, `: ${each.message}`))))),
          panel("How it is set up", this.setup())),
        h("div", { class: "narrow" },
          panel("Why", h("ls-story", { key: "story", ".kind": this.kind, ".namespace": this.namespace, ".name": this.name, ".version": this.object.metadata.resourceVersion })))),
    ];
  }

  summary() {
    const { total, done, failed, running, waiting, left } = parts(this.object);
    const known = this.object.spec.completions !== undefined;
    const piece = (/** @type {number} */ value, /** @type {string} */ tone) => value > 0 && h("span", { class: `fill-${tone}`, style: { width: `${(100 * value) / total}%` } });
    const figure = (/** @type {number} */ value, /** @type {string} */ word, /** @type {string} */ tone) => h("div", { class: `figure ${value ? tone : "zero"}`, key: word }, h("b", null, number(value)), h("span", null, word));
    return h("section", { class: "panel summary", key: "summary", "aria-label": "Progress" },
      h("div", { class: "figures-row" },
        figure(done, known ? `of ${number(total)} done` : "done", "done"), figure(running, "running", "running"), figure(waiting, "waiting", "waiting"),
        figure(this.object.spec.completionMode === "Indexed" ? failed : (this.object.status?.failed ?? 0), this.object.spec.completionMode === "Indexed" ? "indexes failed" : "pods failed", "failed"), figure(left, "to come", "none"),
        h("div", { class: "figure", key: "took" }, h("b", null, span(jobSpan(this.object)) || "–"), h("span", null, jobEnded(this.object) ? "took" : "so far"))),
      h("div", { class: "bar big", role: "img", "aria-label": `${done} of ${total} done` }, piece(done, "done"), piece(failed, "failed"), piece(running, "running"), piece(waiting, "waiting")));
  }

  setup() {
    const { spec } = this.object;
    const containers = spec.template.spec.containers;
    return facts([
      ["Runs at a time", spec.parallelism ?? 1],
      ["Completions", spec.completions === undefined ? "until one succeeds" : number(spec.completions)],
      ["Mode", spec.completionMode],
      ["Retries", spec.backoffLimitPerIndex !== undefined ? `${spec.backoffLimitPerIndex} for each index` : `${spec.backoffLimit ?? 6} in all`],
      ["Failed indexes allowed", spec.maxFailedIndexes],
      ["Deadline", spec.activeDeadlineSeconds !== undefined ? span(spec.activeDeadlineSeconds) : ""],
      ["Deleted after its end", spec.ttlSecondsAfterFinished !== undefined ? span(spec.ttlSecondsAfterFinished) : "never"],
      ["Failure policy", spec.podFailurePolicy ? counted(spec.podFailurePolicy.rules.length, "rule") : ""],
      ["Success policy", spec.successPolicy ? counted(spec.successPolicy.rules.length, "rule") : ""],
      ...containers.map((/** @type {any} */ each) => [containers.length > 1 ? `Command of ${each.name}` : "Command", h("code", { class: "command" }, [...(each.command ?? [each.image]), ...(each.args ?? [])].join(" "))]),
    ]);
  }

  /** @param {any[]} pods */
  timeline(pods) {
    const second = jobEnded(this.object) ? 0 : Math.floor(Date.now() / 1000);
    const id = `${this.pods?.changes} ${second}`;
    if (id !== this.timelineAt) {
      this.timelineAt = id;
      this.made = timelineOf(pods, `Pods of ${this.name}`);
    }
    return this.made;
  }

  /** @param {{name: string, bars: any[]}} row */
  openRow(row) {
    const match = /^index (\d+)$/.exec(row.name);
    if (match) setQuery({ index: match[1] });
  }

  /** Fills in the state of every index. @param {any[]} pods */
  readStates(pods) {
    const { spec, status = {} } = this.object;
    const id = `${this.object.metadata.resourceVersion} ${this.pods?.changes}`;
    if (id === this.statesAt) return;
    const states = this.states.length === spec.completions ? this.states.fill(0) : new Uint8Array(spec.completions);
    const ended = jobEnded(this.object);
    /** @type {Map<number, any[]>} */
    this.byIndex = new Map();
    for (const pod of pods) {
      const index = podIndex(pod);
      if (index === null) continue;
      const some = this.byIndex.get(index);
      if (some) some.push(pod);
      else this.byIndex.set(index, [pod]);
      const { tone } = podState(pod);
      if (tone === "running") states[index] = 2;
      else if (tone === "waiting" || tone === "none") states[index] = Math.max(states[index], 1);
      else if (tone === "failed" && states[index] === 0) states[index] = ended ? 4 : 5;
    }
    mark(states, parse(status.completedIndexes), 3);
    mark(states, parse(status.failedIndexes), 4);
    this.states = states;
    this.statesAt = id;
  }

  /** @param {number} index @returns {string[]} */
  detail(index) {
    const pods = this.byIndex?.get(index) ?? this.details.get(index);
    if (!pods) return this.details.has(index) ? ["no pod is left"] : this.large ? ["…"] : [];
    const last = latest(pods);
    const end = podEnd(last);
    const { begun, ended } = podTimes(last);
    return [
      counted(pods.length, "attempt"),
      end ? `exit code ${end.exitCode}${end.signal ? ` (signal ${end.signal})` : ""}` : "",
      begun !== null ? `${span(((ended ?? Date.now()) - begun) / 1000)}${ended === null ? " so far" : ""}` : "",
    ].filter(Boolean);
  }

  /** Reads the pods of an index that is pointed at, if they are not known. @param {number} index */
  wonder(index) {
    clearTimeout(this.wondering);
    if (this.byIndex?.has(index) || this.details.has(index)) return;
    this.wondering = setTimeout(async () => {
      const labelSelector = `${JOB_LABEL}=${this.object.metadata.uid},${INDEX_LABEL}=${index}`;
      try {
        const { items } = await get(pathOf(KINDS.pods, this.namespace), { labelSelector }, this.scope?.signal);
        this.details.set(index, items.length ? items : null);
        /** @type {any} */ (this.querySelector("ls-index-grid"))?.draw();
        this.draw();
      } catch {
        // It is asked for again when it is pointed at again.
      }
    }, 60);
  }

  /** @param {number} index */
  attempts(index) {
    const pods = this.byIndex?.get(index) ?? this.details.get(index) ?? [];
    if (!pods.length) this.wonder(index);
    const sorted = [...pods].sort((a, b) => seconds(a.metadata.creationTimestamp) - seconds(b.metadata.creationTimestamp));
    return h("div", { class: "attempts", key: "attempts", role: "region", "aria-label": `Index ${index}` },
      h("div", { class: "panel-head" }, h("h3", null, `Index ${index}`), h("span", { class: "spacer" }), h("button", { type: "button", class: "quiet", "aria-label": "Close", onclick: () => setQuery({ index: "" }) }, icon("close"))),
      sorted.length ? h("ul", null, sorted.map((pod, i) => {
        const end = podEnd(pod);
        const { begun, ended } = podTimes(pod);
        return h("li", { key: pod.metadata.uid }, badge(podState(pod)), h("a", { href: pageOf("pods", pod) }, pod.metadata.name), h("span", null, `attempt ${i + 1}`),
          end && h("span", { class: end.exitCode ? "bad" : "" }, `exit code ${end.exitCode}`), begun !== null && h("span", null, span(((ended ?? Date.now()) - begun) / 1000)), end?.message && h("span", { class: "hint" }, end.message.trim().slice(0, 200)));
      })) : h("p", { class: "hint" }, "No pod of this index is left."));
  }
}

/** @param {any[]} pods */
const latest = (pods) => pods.reduce((a, b) => (a.metadata.creationTimestamp > b.metadata.creationTimestamp ? a : b));

customElements.define("ls-job", Job);
