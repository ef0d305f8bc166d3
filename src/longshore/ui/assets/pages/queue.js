// A queue: its share and its gangs.

import { KINDS, pageOf } from "../lib/kinds.js";
import { live } from "../lib/live.js";
import { h } from "../lib/view.js";
import { ObjectPage, facts, panel } from "../parts/object_page.js";
import { queueShares } from "../parts/queue_shares.js";
import "../parts/story.js";
import "../parts/table.js";
import { COLUMNS } from "./columns.js";

class Queue extends ObjectPage {
  get word() {
    return "queues";
  }

  begin() {
    this.nodes = live(this, KINDS.nodes);
    this.gangs = live(this, KINDS.gangs);
  }

  /** @param {string} tab */
  tab(tab) {
    if (tab) return super.tab(tab);
    const { spec } = this.object;
    const gangs = (this.gangs?.all ?? []).filter((/** @type {any} */ gang) => (gang.spec.queue ?? "default") === this.name);
    return h("div", { class: "columns" },
      h("div", { class: "wide" },
        panel("Share", queueShares(this.object, this.nodes?.all ?? [])),
        panel("Gangs", gangs.length ? h("ls-table", { key: "gangs", ".label": "Gangs", ".rows": gangs, ".columns": COLUMNS.gangs, ".idOf": (/** @type {any} */ gang) => gang.metadata.uid, ".hrefOf": (/** @type {any} */ gang) => pageOf("gangs", gang) }) : h("p", { class: "hint" }, "No gang is in this queue."))),
      h("div", { class: "narrow" },
        panel("Why", h("ls-story", { key: "story", ".kind": this.kind, ".namespace": "", ".name": this.name, ".version": this.object.metadata.resourceVersion })),
        panel("How it is set up", facts([["Weight", spec.weight], ["Parent", spec.parent], ["Gives back", spec.reclaimable === false ? "no" : "yes"], ["Priority", spec.priority], ["Order", spec.dequeueStrategy]]))));
  }
}

customElements.define("ls-queue", Queue);
