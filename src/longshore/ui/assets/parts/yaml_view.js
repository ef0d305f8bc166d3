// An object as YAML: whole, without its status, or against what was last applied.

import { diff } from "../lib/diff.js";
import { icon } from "../lib/icons.js";
import { h, properties, View } from "../lib/view.js";
import { dump } from "../lib/yaml.js";
import { say } from "./toast.js";

const APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** `object` and its `kind`. */
class YamlView extends View {
  start() {
    this.shown = "whole";
  }

  text() {
    const { metadata, spec, status, ...rest } = this.object;
    const annotations = { ...metadata.annotations };
    delete annotations[APPLIED];
    const shown = { apiVersion: this.kind.group ? `${this.kind.group}/${this.kind.version}` : this.kind.version, kind: this.kind.kind, metadata: { ...metadata, annotations: Object.keys(annotations).length ? annotations : undefined }, spec, ...rest, status };
    delete (/** @type {any} */ (shown).managedFields);
    return dump(shown);
  }

  applied() {
    const text = this.object.metadata.annotations?.[APPLIED];
    if (!text) return null;
    const applied = JSON.parse(text);
    return { before: dump(sorted(applied.spec)), after: dump(sorted(this.object.spec)) };
  }

  view() {
    if (!this.object) return [];
    const applied = this.applied();
    const text = this.text();
    return [
      h("div", { class: "panel-head" },
        h("div", { class: "chips", role: "group", "aria-label": "Form" },
          [["whole", "Object"], ["diff", "Against last applied"]].filter(([id]) => id === "whole" || applied).map(([id, title]) =>
            h("button", { key: id, type: "button", class: "chip", "aria-pressed": String(this.shown === id), onclick: () => ((this.shown = id), this.draw()) }, title))),
        h("span", { class: "spacer" }),
        h("button", { type: "button", class: "button small", onclick: () => navigator.clipboard.writeText(text).then(() => say("copied")) }, icon("copy"), "Copy")),
      this.shown === "diff" && applied
        ? h("pre", { class: "code diff", tabindex: "0", "aria-label": "Differences of the spec to what was last applied" }, diff(applied.before, applied.after).map((line, i) =>
          h("span", { key: i, class: line.sign === "+" ? "added" : line.sign === "-" ? "gone" : "" }, `${line.sign} ${line.text}\n`)))
        : h("pre", { class: "code", tabindex: "0", "aria-label": "YAML" }, text.split("\n").map((line, i) => yamlLine(line, i))),
    ];
  }
}
properties(YamlView, "object", "kind");
customElements.define("ls-yaml", YamlView);

/** @param {string} line @param {number} i */
function yamlLine(line, i) {
  const match = /^(\s*(?:- )*)([\w./"-]+:)(.*)$/.exec(line);
  return match ? h("span", { key: i }, match[1], h("span", { class: "key" }, match[2]), `${match[3]}\n`) : h("span", { key: i }, `${line}\n`);
}

/** With keys in order, so that only values differ. @param {any} value @returns {any} */
function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
}
