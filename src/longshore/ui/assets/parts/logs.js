// Logs of one pod or of all pods of a Job: followed, searched, with colours and times, as a download.

import { bare, pieces } from "../lib/ansi.js";
import { clock, counted, number } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { preference, prefer } from "../lib/preferences.js";
import { h, properties, render, View } from "../lib/view.js";
import { LogLines } from "./log_lines.js";

const LINE_PX = 20;
const SPARE_LINES = 20;
const MAX_PODS = 100;

/** `pods` are those to read, `name` is that of the download. */
class Logs extends View {
  start() {
    this.words = "";
    this.one = "";
    this.container = "";
    this.times = preference("log-times", "yes") === "yes";
    this.following = true;
    this.restart();
  }

  restart() {
    this.reading?.abort();
    const reading = (this.reading = new AbortController());
    this.scope?.signal.addEventListener("abort", () => reading.abort());
    this.log = new LogLines(reading.signal, () => this.news());
    this.changed();
  }

  changed() {
    if (!this.log) return;
    for (const pod of this.wanted()) for (const name of this.containers(pod)) this.log.add(pod, name);
  }

  /** The pods to read; the newest, if there are too many. */
  wanted() {
    const pods = this.pods ?? [];
    if (this.one) return pods.filter((/** @type {any} */ pod) => pod.metadata.name === this.one);
    if (pods.length <= MAX_PODS) return pods;
    return [...pods].sort((a, b) => (a.metadata.creationTimestamp < b.metadata.creationTimestamp ? 1 : -1)).slice(0, MAX_PODS);
  }

  /** @param {any} pod @returns {string[]} */
  containers(pod) {
    const names = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map((/** @type {any} */ each) => each.name);
    return this.container ? names.filter((name) => name === this.container) : names;
  }

  news() {
    this.draw();
  }

  /** @returns {import("./log_lines.js").Line[]} */
  found() {
    const lines = this.log?.lines ?? [];
    const words = this.words.toLowerCase();
    if (!words) return lines;
    return lines.filter((each) => bare(each.text).toLowerCase().includes(words));
  }

  view() {
    const pods = this.pods ?? [];
    const lines = (this.shown = this.found());
    const containers = [...new Set(pods.flatMap((/** @type {any} */ pod) => [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map((/** @type {any} */ each) => each.name)))];
    const many = pods.length > 1;
    return [
      h("div", { class: "log-tools" },
        many && h("label", null, h("span", { class: "sr" }, "Pod"), h("select", { class: "input", value: this.one, onchange: (/** @type {any} */ event) => { this.one = event.target.value; this.restart(); this.draw(); } },
          h("option", { value: "" }, `all ${counted(pods.length, "pod")}`), pods.slice(0, 500).map((/** @type {any} */ pod) => h("option", { key: pod.metadata.uid, value: pod.metadata.name }, pod.metadata.name)))),
        containers.length > 1 && h("label", null, h("span", { class: "sr" }, "Container"), h("select", { class: "input", value: this.container, onchange: (/** @type {any} */ event) => { this.container = event.target.value; this.restart(); this.draw(); } },
          h("option", { value: "" }, "all containers"), containers.map((name) => h("option", { key: name, value: name }, name)))),
        h("input", { type: "search", class: "input", placeholder: "Search", "aria-label": "Search in the logs", value: this.words, oninput: (/** @type {any} */ event) => { this.words = event.target.value; this.draw(); } }),
        h("span", { class: "hint", role: "status" }, this.words ? `${number(lines.length)} of ${counted(this.log.lines.length, "line")}` : counted(lines.length, "line")),
        h("span", { class: "spacer" }),
        h("label", { class: "check" }, h("input", { type: "checkbox", checked: this.times, onchange: () => { this.times = !this.times; prefer("log-times", this.times ? "yes" : "no"); this.draw(); } }), "Times"),
        h("label", { class: "check" }, h("input", { type: "checkbox", checked: this.following, onchange: () => { this.following = !this.following; this.draw(); } }), "Follow"),
        h("button", { type: "button", class: "button small", onclick: () => this.download() }, icon("download"), "Download")),
      this.log?.problem && h("p", { class: "hint" }, this.log.problem),
      pods.length > MAX_PODS && !this.one && h("p", { class: "hint" }, `Of ${counted(pods.length, "pod")} the newest ${MAX_PODS} are read; choose one to read it alone.`),
      h("div", { class: "log-box", tabindex: "0", role: "log", "aria-label": "Log lines", ref: (/** @type {any} */ node) => (this.box = node), onscroll: () => this.scrolled() },
        h("div", { class: "sizer", style: { height: `${Math.max(1, lines.length) * LINE_PX}px` } },
          h("div", { key: "pane", ref: (/** @type {any} */ node) => (this.pane = node) })),
        !lines.length && h("p", { class: "hint" }, this.words ? "No line has these words." : "No output yet.")),
    ];
  }

  drawn() {
    if (this.following && this.box) this.box.scrollTop = this.box.scrollHeight;
    this.window();
  }

  scrolled() {
    const { box } = this;
    const atEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - LINE_PX * 1.5;
    if (this.following !== atEnd && box.scrollHeight > box.clientHeight) {
      this.following = atEnd;
      this.draw();
    } else {
      this.window();
    }
  }

  window() {
    if (!this.pane) return;
    const top = this.box.scrollTop;
    const lines = this.shown ?? [];
    const first = Math.max(0, Math.floor(top / LINE_PX) - SPARE_LINES);
    const last = Math.min(lines.length, Math.ceil((top + this.box.clientHeight) / LINE_PX) + SPARE_LINES);
    const named = (this.pods?.length ?? 0) > 1 && !this.one;
    const out = [];
    for (let i = first; i < last; i++) out.push(this.line(lines[i], i, named));
    render(this.pane, out);
  }

  /** @param {import("./log_lines.js").Line} line @param {number} i @param {boolean} named */
  line(line, i, named) {
    return h("div", { key: line.seq, class: "log-line", style: { transform: `translateY(${i * LINE_PX}px)` } },
      this.times && h("time", null, clock(line.at)),
      named && h("span", { class: `who w${hue(line.pod)}`, title: line.pod }, shortPod(line.pod)),
      h("span", { class: "text" }, pieces(line.text).map((piece) => this.piece(piece))));
  }

  /** @param {import("../lib/ansi.js").Piece} piece */
  piece(piece) {
    const named = piece.colour?.startsWith("c");
    const props = { class: [named && piece.colour, piece.bold && "bold", piece.dim && "dim"].filter(Boolean).join(" ") || null, style: piece.colour && !named ? { color: piece.colour } : null };
    if (!this.words) return props.class || props.style ? h("span", props, piece.text) : piece.text;
    const out = [];
    const [text, words] = [piece.text.toLowerCase(), this.words.toLowerCase()];
    let at = 0;
    for (let found = text.indexOf(words); found >= 0; found = text.indexOf(words, at)) {
      if (found > at) out.push(piece.text.slice(at, found));
      out.push(h("mark", null, piece.text.slice(found, found + words.length)));
      at = found + words.length;
    }
    out.push(piece.text.slice(at));
    return h("span", props, out);
  }

  download() {
    const text = (this.log?.lines ?? []).map((/** @type {any} */ line) => `${line.at} ${line.pod} ${bare(line.text)}\n`).join("");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
    link.download = `${this.name ?? "logs"}.log`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }
}
properties(Logs, "pods");
customElements.define("ls-logs", Logs);

/** @param {string} pod */
const shortPod = (pod) => (pod.length > 22 ? `…${pod.slice(-21)}` : pod);

/** @param {string} pod */
function hue(pod) {
  let sum = 0;
  for (let i = 0; i < pod.length; i++) sum = (sum * 31 + pod.charCodeAt(i)) >>> 0;
  return sum % 6;
}
