// A pod: its containers with their states, variables and volumes; its story; a terminal and the logs side by side.

import { amount, clock, quantity, span } from "../lib/format.js";
import { badge, icon } from "../lib/icons.js";
import { may } from "../lib/rights.js";
import { podIndex, podTimes } from "../lib/states.js";
import { h } from "../lib/view.js";
import "../parts/logs.js";
import { ObjectPage, facts, panel } from "../parts/object_page.js";
import "../parts/story.js";
import "../parts/terminal.js";

const SECRET_NAME = /secret|token|passw|credential|private|api_?key/i;

class Pod extends ObjectPage {
  get word() {
    return "pods";
  }

  begin() {
    /** @type {Set<string>} */
    this.shown = new Set();
  }

  tabs() {
    return /** @type {[string, string][]} */ ([["", "Overview"], ["logs", "Logs and terminal"], ["events", "Events"], ["yaml", "YAML"]]);
  }

  /** @param {string} tab */
  tab(tab) {
    if (tab === "logs") return this.reach();
    return tab ? super.tab(tab) : this.overview();
  }

  more() {
    const index = podIndex(this.object);
    return [index !== null && h("span", { key: "index" }, `index ${index}`), this.object.spec.nodeName && h("span", { key: "node" }, `on ${this.object.spec.nodeName}`)];
  }

  get running() {
    return this.object.status?.phase === "Running";
  }

  reach() {
    const allowed = may("create", "", "pods/exec", this.namespace);
    return h("div", { class: allowed && this.running ? "side-by-side" : "" },
      h("ls-logs", { class: "panel", key: "logs", ".pods": [this.object], ".name": this.name }),
      allowed && this.running && h("ls-terminal", { class: "panel", key: "terminal", ".namespace": this.namespace, ".pod": this.name, ".containers": this.object.spec.containers.map((/** @type {any} */ each) => each.name) }));
  }

  overview() {
    const { spec, status = {} } = this.object;
    const { begun, ended, created } = podTimes(this.object);
    return h("div", { class: "columns" },
      h("div", { class: "wide" },
        panel("State", facts([
          ["Phase", status.phase], ["Reason", status.reason], ["Message", status.message], ["Node", spec.nodeName], ["Address", status.podIP],
          ["Waited to start", begun !== null ? span((begun - created) / 1000) : span((Date.now() - created) / 1000)],
          ["Ran for", begun !== null ? span(((ended ?? Date.now()) - begun) / 1000) : ""], ["Restart policy", spec.restartPolicy], ["Account", spec.serviceAccountName], ["Priority", spec.priorityClassName ?? spec.priority],
        ])),
        [...(spec.initContainers ?? []).map((/** @type {any} */ each) => this.container(each, status.initContainerStatuses, "Init container")), ...spec.containers.map((/** @type {any} */ each) => this.container(each, status.containerStatuses, "Container"))],
        (spec.volumes ?? []).length > 0 && panel("Volumes", h("ul", { class: "plain-list" }, spec.volumes.map((/** @type {any} */ volume) => h("li", { key: volume.name }, h("b", null, volume.name), " ", volumeText(volume))))),
        panel("Conditions", h("ul", { class: "plain-list" }, (status.conditions ?? []).map((/** @type {any} */ each) => h("li", { key: each.type }, h("b", null, each.type), ` ${each.status === "True" ? "yes" : each.status === "False" ? "no" : "unknown"}`, each.reason && ` (${each.reason})`, each.message && h("span", { class: "hint" }, ` ${each.message}`)))))),
      h("div", { class: "narrow" }, panel("Why", h("ls-story", { key: "story", ".kind": this.kind, ".namespace": this.namespace, ".name": this.name, ".version": this.object.metadata.resourceVersion }))));
  }

  /** @param {any} container @param {any[] | undefined} statuses @param {string} title */
  container(container, statuses, title) {
    const status = (statuses ?? []).find((each) => each.name === container.name) ?? {};
    const last = status.lastState?.terminated;
    const resources = Object.entries({ ...container.resources?.requests }).map(([what, value]) => `${what} ${amount(what, quantity(String(value)))}`).join(", ");
    return panel(`${title} ${container.name}`, [
      facts([
        ["Command", h("code", { class: "command" }, [...(container.command ?? []), ...(container.args ?? [])].join(" ") || "that of the image")],
        ["Image", container.image], ["Asks for", resources], ["Limits", Object.entries(container.resources?.limits ?? {}).map(([what, value]) => `${what} ${amount(what, quantity(String(value)))}`).join(", ")],
        ["Restarts", status.restartCount || ""], ["Exit code", status.state?.terminated?.exitCode], ["Ended", status.state?.terminated ? `${clock(status.state.terminated.finishedAt)}, ${status.state.terminated.reason}` : ""],
        ["Waits for", status.state?.waiting?.reason], ["Last time", last ? `exit code ${last.exitCode} at ${clock(last.finishedAt)}` : ""], ["Message", status.state?.terminated?.message],
      ]),
      (container.env ?? []).length > 0 && h("details", { key: "env" }, h("summary", null, `Variables (${container.env.length})`), h("dl", { class: "env" }, container.env.map((/** @type {any} */ each) => h("div", { key: each.name }, h("dt", null, each.name), h("dd", null, this.value(container.name, each)))))),
      (container.volumeMounts ?? []).length > 0 && h("details", { key: "mounts" }, h("summary", null, `Mounts (${container.volumeMounts.length})`), h("ul", { class: "plain-list" }, container.volumeMounts.map((/** @type {any} */ each) => h("li", { key: each.mountPath }, h("code", null, each.mountPath), ` from ${each.name}${each.readOnly ? ", read only" : ""}`)))),
    ], badge(containerState(status)));
  }

  /** The value of a variable; one that looks like a secret only when asked for. @param {string} container @param {any} variable */
  value(container, variable) {
    const from = variable.valueFrom;
    if (from?.secretKeyRef) return h("span", { class: "hint" }, `key ${from.secretKeyRef.key} of Secret ${from.secretKeyRef.name}`);
    if (from?.configMapKeyRef) return h("span", { class: "hint" }, `key ${from.configMapKeyRef.key} of ConfigMap ${from.configMapKeyRef.name}`);
    if (from?.fieldRef) return h("span", { class: "hint" }, `field ${from.fieldRef.fieldPath}`);
    if (from?.resourceFieldRef) return h("span", { class: "hint" }, `resource ${from.resourceFieldRef.resource}`);
    const id = `${container} ${variable.name}`;
    if (SECRET_NAME.test(variable.name) && !this.shown.has(id)) {
      return h("button", { type: "button", class: "button small quiet", onclick: () => { this.shown.add(id); this.draw(); } }, "•••••• show");
    }
    return h("code", null, variable.value ?? "");
  }
}

/** @param {any} status @returns {import("../lib/states.js").State} */
function containerState(status) {
  const { running, terminated, waiting } = status.state ?? {};
  if (running) return { word: "running", tone: "running" };
  if (terminated) return terminated.exitCode === 0 ? { word: "done", tone: "done" } : { word: `exit code ${terminated.exitCode}`, tone: "failed" };
  return { word: waiting?.reason ?? "waiting", tone: "waiting" };
}

/** @param {any} volume */
function volumeText(volume) {
  const [type] = Object.keys(volume).filter((key) => key !== "name");
  const of = volume[type ?? ""] ?? {};
  const named = of.claimName ?? of.secretName ?? of.name ?? of.path ?? "";
  return h("span", { class: "hint" }, icon("pods"), ` ${type}${named ? ` ${named}` : ""}`);
}

customElements.define("ls-pod", Pod);
