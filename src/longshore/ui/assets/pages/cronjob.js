// A CronJob: a calendar of runs that were and runs to come, in its own time zone, and what was skipped and why.

import { get } from "../lib/api.js";
import { ago, clock, full, now, seconds, span } from "../lib/format.js";
import { badge } from "../lib/icons.js";
import { KINDS, ownPath, pageAt } from "../lib/kinds.js";
import { live } from "../lib/live.js";
import { condition, jobEnded, jobState, resultState } from "../lib/states.js";
import { h } from "../lib/view.js";
import { calendar } from "../parts/calendar.js";
import { ObjectPage, facts, panel } from "../parts/object_page.js";
import "../parts/story.js";

const COMING_ROWS = 8;
const PAST_ROWS = 12;
const AGAIN_MS = 10000;

class CronJob extends ObjectPage {
  get word() {
    return "cronjobs";
  }

  begin() {
    this.jobs = live(this, KINDS.jobs, { namespace: this.namespace });
    /** @type {any[]} */
    this.finished = [];
    this.plan = null;
    this.month = 0;
    this.ask();
    this.every(AGAIN_MS, () => this.ask());
  }

  news() {
    this.ask();
  }

  async ask() {
    const { signal } = /** @type {AbortController} */ (this.scope);
    const [plan, history] = await Promise.allSettled([get(ownPath("cronjobcalendars", this.namespace, this.name), {}, signal), get(ownPath("finishedjobs", this.namespace), {}, signal)]);
    if (plan.status === "fulfilled") this.plan = plan.value;
    if (history.status === "fulfilled") this.finished = history.value.items.filter((/** @type {any} */ each) => each.owner === `CronJob/${this.name}`);
    this.draw();
  }

  tabs() {
    return /** @type {[string, string][]} */ ([["", "Calendar"], ["events", "Events"], ["yaml", "YAML"]]);
  }

  /** Runs that are known, newest first: Jobs that are there, and those that are remembered. */
  runs() {
    const out = new Map();
    for (const each of this.finished) out.set(each.metadata.uid, { name: each.job, at: seconds(each.startTime ?? each.endTime), state: resultState(each.result), took: seconds(each.endTime) - seconds(each.startTime), note: each.lastFailure ?? "" });
    for (const job of this.jobs?.all ?? []) {
      if (!job.metadata.ownerReferences?.some((/** @type {any} */ owner) => owner.uid === this.object.metadata.uid)) continue;
      const begun = seconds(job.status?.startTime ?? job.metadata.creationTimestamp);
      const end = condition(job, "Complete") ?? condition(job, "Failed");
      const manual = job.metadata.annotations?.["cronjob.kubernetes.io/instantiate"] === "manual";
      out.set(job.metadata.uid, { name: job.metadata.name, at: begun, state: jobState(job), took: (jobEnded(job) ? seconds(end.lastTransitionTime) : now()) - begun, note: manual ? "by hand" : (out.get(job.metadata.uid)?.note ?? "") });
    }
    return [...out.values()].sort((a, b) => b.at - a.at);
  }

  /** @param {string} tab */
  tab(tab) {
    if (tab) return super.tab(tab);
    const { spec, status = {} } = this.object;
    const runs = this.runs();
    const coming = this.plan?.upcoming ?? [];
    const next = coming[0];
    return h("div", { class: "columns" },
      h("div", { class: "wide" },
        h("section", { class: "panel summary", key: "summary", "aria-label": "Schedule" }, h("div", { class: "figures-row" },
          h("div", { class: "figure" }, h("b", null, h("code", null, spec.schedule)), h("span", null, spec.timeZone ? `in ${spec.timeZone}` : `in this machine's zone${this.plan?.zone ? `, ${this.plan.zone}` : ""}`)),
          h("div", { class: "figure" }, h("b", null, spec.suspend ? "–" : next ? span(Math.max(0, seconds(next.at) - now())) : "–"), h("span", null, spec.suspend ? "suspended" : next ? "until the next run" : "no run to come")),
          h("div", { class: "figure" }, h("b", null, (runs.length ? `${span(Math.floor(now() - runs[0].at)).split(" ")[0]} ago` : ago(status.lastScheduleTime)) || "never"), h("span", null, "last run")))),
        (this.plan?.notes ?? []).map((/** @type {string} */ note) => h("div", { class: "notice waiting", key: note }, h("p", null, note))),
        panel(`Calendar`, calendar({ runs, coming: spec.suspend ? [] : coming, month: this.month, zone: this.plan?.zone ?? "", onmonth: (month) => { this.month = month; this.draw(); } }), this.plan?.zone && h("span", { class: "hint" }, `days and times of ${this.plan.zone}`)),
        panel("Runs", runs.length ? h("ul", { class: "run-list" }, runs.slice(0, PAST_ROWS).map((run) => h("li", { key: run.name }, badge(run.state), h("a", { href: pageAt("jobs", this.namespace, run.name) }, run.name), h("time", { title: full(run.at), class: "hint" }, clock(run.at)), h("span", { class: "hint" }, Number.isFinite(run.took) ? span(run.took) : ""), h("span", { class: "hint" }, run.note)))) : h("p", { class: "hint" }, "It has not run yet."))),
      h("div", { class: "narrow" },
        panel("Coming runs", spec.suspend ? h("p", { class: "hint" }, "Suspended: nothing starts before it is resumed.") : h("ol", { class: "plain-list" }, coming.slice(0, COMING_ROWS).map((/** @type {any} */ run) => h("li", { key: run.at }, h("time", { title: full(run.at) }, run.wall), run.note && h("span", { class: "hint" }, ` ${run.note}`))))),
        panel("Why", h("ls-story", { key: "story", ".kind": this.kind, ".namespace": this.namespace, ".name": this.name, ".version": this.object.metadata.resourceVersion })),
        panel("How it is set up", facts([["If one still runs", { Allow: "both run", Forbid: "the new one is skipped", Replace: "the old one is replaced" }[/** @type {"Allow"} */ (spec.concurrencyPolicy)]], ["Starts at most late by", spec.startingDeadlineSeconds !== undefined ? span(spec.startingDeadlineSeconds) : ""], ["Keeps", `${spec.successfulJobsHistoryLimit ?? 3} done, ${spec.failedJobsHistoryLimit ?? 1} failed`]]))));
  }
}

customElements.define("ls-cronjob", CronJob);
