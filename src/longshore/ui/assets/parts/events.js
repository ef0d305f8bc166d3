// The events about an object, newest first.

import { ago, full, now, seconds } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { KINDS } from "../lib/kinds.js";
import { live } from "../lib/live.js";
import { h, properties, View } from "../lib/view.js";

class Events extends View {
  start() {
    this.every(5000);
    this.follow();
  }

  changed() {
    if (this.isConnected && !this.list) this.follow();
  }

  follow() {
    if (!this.about) return;
    const { namespace, name, uid } = this.about.metadata;
    this.list = live(this, KINDS.events, { namespace: namespace ?? "", fields: uid ? `involvedObject.uid=${uid}` : `involvedObject.name=${name}` });
  }

  view() {
    return eventList(this.list?.all ?? [], Boolean(this.list?.ready));
  }
}
properties(Events, "about");
customElements.define("ls-events", Events);

/** @param {any} event */
export const timeOf = (event) => event.lastTimestamp ?? event.series?.lastObservedTime ?? event.eventTime ?? event.metadata.creationTimestamp;

/** @param {any[]} events @param {boolean} ready @param {boolean} [named] whether each says what it is about @param {number} [most] */
export function eventList(events, ready, named = false, most = 200) {
  const sorted = [...events].sort((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1)).slice(0, most);
  if (!sorted.length) return h("p", { class: "hint" }, ready ? "No events. They are kept for an hour." : "loading …");
  return h("ul", { class: "event-list" }, sorted.map((event) => h("li", { key: event.metadata.uid, class: event.type === "Warning" ? "warning" : "" },
    h("time", { title: full(timeOf(event)) }, now() - seconds(timeOf(event)) < 1 ? "now" : ago(timeOf(event))),
    h("span", { class: "reason" }, event.type === "Warning" && icon("alert", "Warning"), event.reason),
    h("span", { class: "message" }, named && h("span", { class: "about" }, `${event.involvedObject.kind} ${event.involvedObject.name}: `), event.message, (event.count ?? 1) > 1 && h("span", { class: "times" }, ` (${event.count} times)`)))));
}
