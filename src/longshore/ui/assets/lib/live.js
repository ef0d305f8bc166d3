// Lists that stay true: a list, then a watch, resumed where it broke off, or a new list after a 410.
//
// Several parts of a page share one watch. Watches are WebSockets, because a browser opens only six plain connections
// to a server.

import { Refusal, get, socket } from "./api.js";
import { pathOf } from "./kinds.js";

const PAGE_ITEMS = 500;
const FIRST_PAUSE_MS = 400;
const MAX_PAUSE_MS = 8000;
const LINGER_MS = 3000;

/** @type {Map<string, Live>} */
const shared = new Map();

/** How many lists wait for the server. */
export const connection = Object.assign(new EventTarget(), { lost: 0 });

/** @param {number} change */
function countLost(change) {
  connection.lost += change;
  connection.dispatchEvent(new Event("change"));
}

/** The objects of one collection, by uid. Tells of changes with `change`, once per frame. */
export class Live extends EventTarget {
  /** @param {string} path @param {Record<string, string>} query */
  constructor(path, query) {
    super();
    this.path = path;
    this.query = query;
    /** @type {Map<string, any>} */
    this.items = new Map();
    this.ready = false;
    /** @type {Error | null} */
    this.problem = null;
    this.users = 0;
    this.version = "";
    this.changes = 0;
    this.lost = false;
    this.stopped = new AbortController();
    this.run();
  }

  /** The objects as an array; the same one until something changes. @returns {any[]} */
  get all() {
    if (this.cachedAt !== this.changes) {
      this.cached = [...this.items.values()];
      this.cachedAt = this.changes;
    }
    return this.cached ?? [];
  }

  stop() {
    this.stopped.abort();
    this.open?.close();
    this.setLost(false);
  }

  /** @param {boolean} lost */
  setLost(lost) {
    if (lost === this.lost) return;
    this.lost = lost;
    countLost(lost ? 1 : -1);
  }

  async run() {
    const { signal } = this.stopped;
    let pause = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      try {
        if (!this.version) await this.list(signal);
        const began = performance.now();
        const how = await this.watch(signal);
        if (how === "expired" || (how === "refused" && !this.lost)) this.version = "";
        if (how === "ended" && performance.now() - began > 1000) pause = FIRST_PAUSE_MS;
        if (how === "expired") continue;
        if (how === "refused") this.setLost(true);
      } catch (error) {
        if (signal.aborted) return;
        this.problem = error instanceof Refusal && [401, 403, 404].includes(error.code) ? error : null;
        this.version = "";
        if (this.problem) {
          this.setLost(false);
          this.ready = true;
          this.changed();
          pause = MAX_PAUSE_MS;
        } else {
          this.setLost(true);
        }
      }
      await new Promise((after) => setTimeout(after, pause * (0.7 + 0.6 * Math.random())));
      pause = Math.min(pause * 1.7, MAX_PAUSE_MS);
    }
  }

  /** @param {AbortSignal} signal */
  async list(signal) {
    const found = new Map();
    let more = "";
    let version = "";
    do {
      const page = await get(this.path, { ...this.query, limit: PAGE_ITEMS, continue: more }, signal);
      for (const item of page.items) {
        delete item.metadata.managedFields;
        found.set(item.metadata.uid, item);
      }
      version = page.metadata.resourceVersion;
      more = page.metadata.continue ?? "";
      if (!this.ready) {
        this.items = new Map(found);
        this.changed();
      }
    } while (more);
    this.items = found;
    this.version = version;
    this.ready = true;
    this.problem = null;
    this.setLost(false);
    this.changed();
  }

  /** @param {AbortSignal} signal @returns {Promise<"ended" | "refused" | "expired">} */
  watch(signal) {
    return new Promise((resolve) => {
      let opened = false;
      const query = { ...this.query, watch: 1, allowWatchBookmarks: true, resourceVersion: this.version };
      const line = (this.open = socket(this.path, query));
      line.onopen = () => {
        opened = true;
        this.setLost(false);
      };
      line.onmessage = ({ data }) => {
        const { type, object } = JSON.parse(data);
        if (type === "ERROR") {
          resolve("expired");
          line.close();
          return;
        }
        this.version = object.metadata.resourceVersion;
        if (type === "BOOKMARK") return;
        delete object.metadata.managedFields;
        if (type === "DELETED") this.items.delete(object.metadata.uid);
        else this.items.set(object.metadata.uid, object);
        this.changed();
      };
      line.onclose = () => resolve(opened ? "ended" : "refused");
      signal.addEventListener("abort", () => line.close());
    });
  }

  changed() {
    this.changes++;
    if (this.telling) return;
    this.telling = true;
    const tell = () => {
      this.telling = false;
      this.dispatchEvent(new Event("change"));
    };
    if (document.visibilityState === "visible") requestAnimationFrame(tell);
    else setTimeout(tell, 250);
  }
}

/**
 * A list that stays true for as long as `view` is on the page, which is drawn again after each change.
 * @param {any} view
 * @param {import("./kinds.js").Kind} kind
 * @param {{namespace?: string, labels?: string, fields?: string, name?: string}} [which]
 * @param {() => void} [onchange]
 * @returns {Live}
 */
export function live(view, kind, { namespace = "", labels = "", fields = "", name = "" } = {}, onchange = () => view.draw()) {
  /** @type {Record<string, string>} */
  const query = {};
  if (labels) query.labelSelector = labels;
  const selected = [name && `metadata.name=${name}`, fields].filter(Boolean).join(",");
  if (selected) query.fieldSelector = selected;
  const path = pathOf(kind, namespace);
  const id = `${path}?${JSON.stringify(query)}`;
  let list = shared.get(id);
  if (!list) {
    list = new Live(path, query);
    shared.set(id, list);
  }
  const held = list;
  held.users++;
  const { signal } = view.scope;
  held.addEventListener("change", onchange, { signal });
  if (held.ready) queueMicrotask(() => signal.aborted || onchange());
  signal.addEventListener("abort", () => {
    held.users--;
    // The next page often wants the same list.
    setTimeout(() => {
      if (held.users === 0 && shared.get(id) === held) {
        shared.delete(id);
        held.stop();
      }
    }, LINGER_MS);
  });
  return held;
}
