// The lines of the logs of several pods, in the order of their times.

import { Refusal, request, socket } from "../lib/api.js";
import { KINDS, pathOf } from "../lib/kinds.js";

const MAX_LINES = 50000;
const TAIL_LINES = 1000;
const FETCHES = 3;
const AGAIN_MS = 1500;

/** @typedef {{at: string, text: string, pod: string, seq: number}} Line */

/** Reads logs until `signal`; tells of new lines by `onchange`, at most once per frame. */
export class LogLines {
  /** @param {AbortSignal} signal @param {() => void} onchange */
  constructor(signal, onchange) {
    this.signal = signal;
    this.onchange = onchange;
    /** @type {Line[]} */
    this.lines = [];
    this.dropped = 0;
    this.problem = "";
    this.seq = 0;
    /** @type {(() => Promise<void>)[]} */
    this.queue = [];
    this.busy = 0;
    /** @type {Set<string>} */
    this.begun = new Set();
  }

  /** Reads the log of a container's last run, and follows it while the pod runs. @param {any} pod @param {string} container */
  add(pod, container) {
    const over = pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
    const state = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])].find((/** @type {any} */ each) => each.name === container);
    const id = `${pod.metadata.uid} ${container} ${state?.restartCount ?? 0}`;
    if (this.begun.has(id)) return;
    const started = state?.state?.running || state?.state?.terminated || state?.lastState?.terminated;
    if (!started && !over) return;
    this.begun.add(id);
    const path = `${pathOf(KINDS.pods, pod.metadata.namespace, pod.metadata.name)}/log`;
    const query = { container, timestamps: true, tailLines: TAIL_LINES };
    if (over) this.later(() => this.fetch(path, query, pod.metadata.name));
    else this.follow(path, query, pod.metadata.name, "");
  }

  /** @param {() => Promise<void>} work */
  async later(work) {
    this.queue.push(work);
    if (this.busy >= FETCHES) return;
    this.busy++;
    for (let next = this.queue.shift(); next && !this.signal.aborted; next = this.queue.shift()) await next();
    this.busy--;
  }

  /** @param {string} path @param {Record<string, any>} query @param {string} pod */
  async fetch(path, query, pod) {
    try {
      const answer = await request("GET", path, { query, signal: this.signal, accept: "*/*" });
      this.take(await answer.text(), pod);
    } catch (error) {
      if (!this.signal.aborted && !(error instanceof Refusal && error.code === 404)) {
        this.problem = error instanceof Error ? error.message : String(error);
        this.tell();
      }
    }
  }

  /** @param {string} path @param {Record<string, any>} query @param {string} pod @param {string} since */
  follow(path, query, pod, since) {
    const { tailLines, ...rest } = query;
    const line = socket(path, { ...rest, follow: true, ...(since ? { sinceTime: since } : { tailLines }) });
    line.binaryType = "arraybuffer";
    const decoder = new TextDecoder();
    let half = "";
    let last = since;
    let opened = false;
    line.onopen = () => (opened = true);
    line.onmessage = ({ data }) => {
      const text = half + decoder.decode(data, { stream: true });
      const end = text.lastIndexOf("\n") + 1;
      half = text.slice(end);
      if (!end) return;
      // After a break the lines of its second come again.
      const fresh = text.slice(0, end).split("\n").filter((each) => !since || each.slice(0, each.indexOf(" ")) > since).join("\n");
      const from = fresh.trimEnd().lastIndexOf("\n") + 1;
      last = fresh.slice(from).split(" ", 1)[0] || last;
      this.take(fresh, pod);
    };
    line.onclose = (event) => {
      if (half) this.take(half, pod);
      // A log that ends is closed in order; a server that stops breaks off.
      if (!this.signal.aborted && (!opened || event.code !== 1000)) setTimeout(() => !this.signal.aborted && this.follow(path, query, pod, last), AGAIN_MS);
    };
    this.signal.addEventListener("abort", () => line.close());
  }

  /** @param {string} text @param {string} pod */
  take(text, pod) {
    const { lines } = this;
    const before = lines.length;
    for (const each of text.split("\n")) {
      if (!each) continue;
      const cut = each.indexOf(" ");
      lines.push({ at: each.slice(0, cut), text: each.slice(cut + 1), pod, seq: this.seq++ });
    }
    if (lines.length === before) return;
    if (before && lines[before].at < lines[before - 1].at) this.unsorted = true;
    this.tell();
  }

  tell() {
    if (this.telling) return;
    this.telling = true;
    requestAnimationFrame(() => {
      this.telling = false;
      if (this.unsorted) this.lines.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : a.seq - b.seq));
      this.unsorted = false;
      const over = this.lines.length - MAX_LINES;
      if (over > 0) {
        this.lines.splice(0, over);
        this.dropped += over;
      }
      this.onchange();
    });
  }
}
