// The story of an object, as `longshore why` tells it: what happened, what is so now, what is next.

import { get } from "../lib/api.js";
import { clock, full, now as present, seconds, span } from "../lib/format.js";
import { ownPath } from "../lib/kinds.js";
import { h, properties, View } from "../lib/view.js";

const FIRST_LINES = 30;
const PAUSE_MS = 1500;
const TIME = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g;

/** `kind` and the object's `version`: the story is asked for again after a change. */
class Story extends View {
  start() {
    this.all = false;
    this.load();
    this.every(4000, () => this.load());
    this.every(1000, () => this.story?.next.some((/** @type {string} */ each) => each.match(TIME)) && this.draw());
  }

  changed() {
    if (this.isConnected) this.later();
  }

  later() {
    if (this.waiting) return;
    this.waiting = setTimeout(() => {
      this.waiting = 0;
      if (this.alive) this.load();
    }, PAUSE_MS);
  }

  async load() {
    if (!this.kind?.why || this.loading) return;
    this.loading = true;
    try {
      const plural = this.kind.namespaced ? "explanations" : "clusterexplanations";
      this.story = await get(ownPath(plural, this.kind.namespaced ? this.namespace : "", `${this.kind.why}.${this.name}`), {}, this.scope?.signal);
      this.problem = "";
    } catch (error) {
      this.problem = error instanceof Error ? error.message : "";
    }
    this.loading = false;
    this.draw();
  }

  view() {
    if (!this.story) return h("p", { class: "hint" }, this.problem || "loading …");
    const { story, now, next } = this.story;
    const from = this.all ? 0 : Math.max(0, story.length - FIRST_LINES);
    return [
      from > 0 && h("button", { type: "button", class: "button small quiet", onclick: () => ((this.all = true), this.draw()) }, `Show ${from} earlier lines`),
      h("ol", { class: "story" }, story.slice(from).map((/** @type {any} */ line, /** @type {number} */ i) => h("li", { key: from + i },
        h("time", { title: full(line.at) }, clock(line.at)),
        h("div", null, h("p", null, told(line.words), line.times > 1 && h("span", { class: "times" }, ` (${line.times} times)`)), (line.more ?? []).map((/** @type {string} */ each) => h("p", { class: "more" }, told(each))))))),
      now.length > 0 && h("div", { class: "story-now" }, h("h3", null, "Now"), now.map((/** @type {string} */ each) => h("p", null, told(each)))),
      next.length > 0 && h("div", { class: "story-next" }, h("h3", null, "Next"), next.map((/** @type {string} */ each) => h("p", null, counting(each)))),
    ];
  }
}
properties(Story, "kind", "namespace", "name", "version");
customElements.define("ls-story", Story);

/** Times in the words, in the reader's zone. @param {string} words */
const told = (words) => words.replace(TIME, (text) => clock(text));

/** With the time that is left until each time that is still to come. @param {string} words */
const counting = (words) => words.replace(TIME, (text) => {
  const left = seconds(text) - present();
  return left > 0 ? `${clock(text)} (in ${span(Math.ceil(left))})` : clock(text);
});
