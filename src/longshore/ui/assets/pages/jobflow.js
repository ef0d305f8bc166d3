// A JobFlow as a graph: its steps, what they wait for, how far they are.

import { KINDS, pageAt } from "../lib/kinds.js";
import { live } from "../lib/live.js";
import { gangState } from "../lib/states.js";
import { h } from "../lib/view.js";
import { ObjectPage, panel } from "../parts/object_page.js";
import "../parts/story.js";

const [WIDE, TALL, GAP_X, GAP_Y] = [142, 46, 36, 18];

class JobFlow extends ObjectPage {
  get word() {
    return "jobflows";
  }

  begin() {
    this.gangs = live(this, KINDS.gangs, { namespace: this.namespace });
  }

  /** @param {string} tab */
  tab(tab) {
    if (tab) return super.tab(tab);
    return h("div", { class: "columns" },
      h("div", { class: "wide" }, panel("Steps", this.graph())),
      h("div", { class: "narrow" }, panel("Why", h("ls-story", { key: "story", ".kind": this.kind, ".namespace": this.namespace, ".name": this.name, ".version": this.object.metadata.resourceVersion }))));
  }

  graph() {
    const flows = this.object.spec.flows ?? [];
    const column = levels(flows);
    const rows = new Map();
    const spots = new Map();
    for (const flow of flows) {
      const x = column.get(flow.name) ?? 0;
      const y = rows.get(x) ?? 0;
      rows.set(x, y + 1);
      spots.set(flow.name, { x: x * (WIDE + GAP_X) + 4, y: y * (TALL + GAP_Y) + 4 });
    }
    const wide = (Math.max(0, ...column.values()) + 1) * (WIDE + GAP_X) - GAP_X + 8;
    const tall = Math.max(1, ...rows.values()) * (TALL + GAP_Y) - GAP_Y + 8;
    const edges = flows.flatMap((/** @type {any} */ flow) => (flow.dependsOn?.targets ?? []).filter((/** @type {string} */ each) => spots.has(each)).map((/** @type {string} */ target) => {
      const [from, to] = [spots.get(target), spots.get(flow.name)];
      const [x1, y1, x2, y2] = [from.x + WIDE, from.y + TALL / 2, to.x, to.y + TALL / 2];
      return h("path", { key: `${target} ${flow.name}`, class: "edge", d: `M${x1} ${y1}C${x1 + GAP_X / 2} ${y1} ${x2 - GAP_X / 2} ${y2} ${x2} ${y2}` });
    }));
    return h("div", { class: "graph-scroll", tabindex: "0", role: "group", "aria-label": "Graph of the steps" }, h("svg", { width: wide, height: tall, viewBox: `0 0 ${wide} ${tall}` }, edges, flows.map((/** @type {any} */ flow) => this.step(flow, spots.get(flow.name)))));
  }

  /** @param {any} flow @param {{x: number, y: number}} spot */
  step(flow, spot) {
    const name = `${this.name}-${flow.name}`;
    const gang = this.gangs?.all.find((/** @type {any} */ each) => each.metadata.name === name);
    const state = gang ? gangState(gang) : { word: "not started", tone: "none" };
    const box = [h("rect", { class: `step ${state.tone}`, x: spot.x, y: spot.y, width: WIDE, height: TALL, rx: 8 }), h("text", { class: "step-name", x: spot.x + 12, y: spot.y + 20 }, flow.name.length > 16 ? `${flow.name.slice(0, 15)}…` : flow.name), h("text", { class: `step-state ${state.tone}`, x: spot.x + 12, y: spot.y + 37 }, state.word)];
    return gang ? h("a", { key: flow.name, href: pageAt("gangs", this.namespace, name), "aria-label": `${flow.name}: ${state.word}` }, box) : h("g", { key: flow.name }, box);
  }
}

/** How many steps come before each. @param {any[]} flows */
function levels(flows) {
  const found = new Map();
  const level = (/** @type {string} */ name, /** @type {Set<string>} */ above) => {
    if (found.has(name) || above.has(name)) return found.get(name) ?? 0;
    const flow = flows.find((each) => each.name === name);
    const before = (flow?.dependsOn?.targets ?? []).map((/** @type {string} */ each) => level(each, new Set([...above, name])) + 1);
    found.set(name, Math.max(0, ...before));
    return found.get(name);
  };
  for (const flow of flows) level(flow.name, new Set());
  return found;
}

customElements.define("ls-jobflow", JobFlow);
