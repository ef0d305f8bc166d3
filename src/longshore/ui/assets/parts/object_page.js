// What the pages of single objects share: following the object, its head with state and actions, and tabs.

import { ago, full } from "../lib/format.js";
import { badge, icon } from "../lib/icons.js";
import { KINDS, kindOf, pageAt } from "../lib/kinds.js";
import { live } from "../lib/live.js";
import { rights } from "../lib/rights.js";
import { here, router, setQuery } from "../lib/router.js";
import { STATE_OF } from "../lib/states.js";
import { h, View } from "../lib/view.js";
import { actionsFor, perform } from "./actions.js";
import "./events.js";
import "./yaml_view.js";

/** A page about the object that the address names. Subclasses say `word`, `tabs()` and what each tab shows. */
export class ObjectPage extends View {
  get word() {
    return "";
  }

  start() {
    const { parts } = here();
    this.kind = KINDS[this.word];
    [this.namespace, this.name] = this.kind.namespaced ? [parts[1], parts[2]] : ["", parts[1]];
    document.title = `${this.name} · longshore`;
    const { signal } = /** @type {AbortController} */ (this.scope);
    this.list = live(this, this.kind, { namespace: this.namespace, name: this.name }, () => this.changed());
    router.addEventListener("change", () => this.draw(), { signal });
    rights.addEventListener("change", () => this.draw(), { signal });
    this.every(1000);
    this.begin();
  }

  begin() {}

  changed() {
    const found = this.list?.all[0];
    if (found) this.object = found;
    this.gone = Boolean(this.list?.ready && !found);
    this.news();
    this.draw();
  }

  /** After the object has changed. */
  news() {}

  /** @returns {[string, string][]} addresses and titles */
  tabs() {
    return [["", "Overview"], ["events", "Events"], ["yaml", "YAML"]];
  }

  /** @param {string} tab @returns {any} */
  tab(tab) {
    if (tab === "events") return h("ls-events", { class: "panel", ".about": this.object, key: "events" });
    if (tab === "yaml") return h("ls-yaml", { class: "panel", ".object": this.object, ".kind": this.kind, key: "yaml" });
    return null;
  }

  /** Further words under the name. @returns {any} */
  more() {
    return null;
  }

  view() {
    if (!this.object) {
      if (this.list?.problem) return h("div", { class: "notice failed" }, icon("alert"), h("p", null, this.list.problem.message));
      return this.gone ? this.missing() : h("p", { class: "loading" }, "loading …");
    }
    const { metadata } = this.object;
    const tab = here().query.get("tab") ?? "";
    return h("article", { class: "object-page", "aria-labelledby": "title" },
      h("p", { class: "crumbs" }, h("a", { href: `/ui/${this.word}` }, this.kind.many), this.namespace && [icon("chevron"), h("a", { href: `/ui/${this.word}?ns=${encodeURIComponent(this.namespace)}` }, this.namespace)]),
      h("div", { class: "page-head" },
        h("h1", { id: "title" }, this.name),
        this.gone ? badge({ word: "deleted", tone: "none" }) : badge(STATE_OF[this.word](this.object)),
        h("span", { class: "spacer" }),
        !this.gone && actionsFor(this.word, [this.object]).map((action) => h("button", { key: action.id, type: "button", class: `button${action.danger ? " danger" : ""}`, onclick: () => perform(this.word, action, [this.object]) }, icon(action.icon), action.title))),
      h("p", { class: "facts" },
        h("span", { title: full(metadata.creationTimestamp) }, `created ${ago(metadata.creationTimestamp)}`),
        (metadata.ownerReferences ?? []).map((/** @type {any} */ owner) => ownerLink(owner, this.namespace)),
        this.more(),
        Object.entries(metadata.labels ?? {}).filter(([key]) => !/controller-uid|^job-name|batch.kubernetes.io\/job-name/.test(key)).slice(0, 6)
          .map(([key, value]) => h("a", { class: "label", key, href: `/ui/${this.word}?q=${encodeURIComponent(`${key}=${value}`)}` }, `${key}=${value}`))),
      h("div", { class: "tabs", role: "tablist" }, this.tabs().map(([id, title]) =>
        h("button", { key: id, type: "button", role: "tab", id: `tab-${id || "first"}`, "aria-selected": String(tab === id), tabindex: tab === id ? "0" : "-1", "aria-controls": "tab-panel",
          onclick: () => setQuery({ tab: id }, {}), onkeydown: (/** @type {KeyboardEvent} */ event) => this.arrow(event) }, title))),
      h("div", { id: "tab-panel", role: "tabpanel", key: `panel ${tab}`, "aria-labelledby": `tab-${tab || "first"}` }, this.tab(tab)));
  }

  /** @param {KeyboardEvent} event */
  arrow(event) {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    const tabs = this.tabs();
    const at = tabs.findIndex(([id]) => id === (here().query.get("tab") ?? ""));
    const next = tabs[(at + step + tabs.length) % tabs.length][0];
    setQuery({ tab: next }, {});
    requestAnimationFrame(() => requestAnimationFrame(() => document.getElementById(`tab-${next || "first"}`)?.focus()));
  }

  missing() {
    return h("div", { class: "empty" }, icon(this.word), h("h1", null, `There is no ${this.kind.one} ${this.name}`),
      h("p", null, "It may have been deleted. ", this.word === "jobs" && h("a", { href: `/ui/history?q=${encodeURIComponent(this.name)}` }, "Look in the history"), this.word !== "jobs" && h("a", { href: `/ui/${this.word}` }, `All ${this.kind.many}`)));
  }
}

/** @param {any} owner @param {string} namespace */
function ownerLink(owner, namespace) {
  const kind = kindOf(owner);
  const text = `${owner.kind} ${owner.name}`;
  return h("span", { key: owner.uid }, "of ", kind ? h("a", { href: pageAt(kind.id, namespace, owner.name) }, text) : text);
}

/** Terms and what they are. @param {[string, any][]} pairs */
export const facts = (pairs) => h("dl", { class: "pairs" }, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([term, value]) => h("div", { key: term }, h("dt", null, term), h("dd", null, value))));

/** @param {string} title @param {any} content @param {any} [aside] */
export const panel = (title, content, aside = null) => h("section", { class: "panel", key: title, "aria-label": title }, h("div", { class: "panel-head" }, h("h2", null, title), h("span", { class: "spacer" }), aside), content);
