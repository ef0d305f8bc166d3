// The command palette: reaches any page, Job, CronJob, gang, pod or queue by name.

import { get } from "../lib/api.js";
import { icon } from "../lib/icons.js";
import { KINDS, pageOf, pathOf } from "../lib/kinds.js";
import { go } from "../lib/router.js";
import { h, render } from "../lib/view.js";

const SEARCHED = ["jobs", "cronjobs", "gangs", "jobflows", "queues", "pods"];
const SHOWN = 12;
const LISTED = 2000;
const PAGES = [
  ["Overview", "/ui/"], ["Jobs", "/ui/jobs"], ["CronJobs", "/ui/cronjobs"], ["Gangs", "/ui/gangs"], ["JobFlows", "/ui/jobflows"],
  ["Pods", "/ui/pods"], ["Queues", "/ui/queues"], ["History", "/ui/history"], ["Timeline", "/ui/timeline"],
];

/** @typedef {{name: string, where: string, sign: string, href: string}} Entry */

export async function openPalette() {
  if (document.querySelector("dialog.palette")) return;
  const dialog = document.createElement("dialog");
  dialog.className = "dialog palette";
  dialog.setAttribute("aria-label", "Go to");
  /** @type {Entry[]} */
  const entries = PAGES.map(([name, href]) => ({ name, href, where: "page", sign: name.toLowerCase() }));
  let words = "";
  let chosen = 0;
  /** @type {Entry[]} */
  let found = [];

  const draw = () => {
    found = best(entries, words);
    chosen = Math.max(0, Math.min(chosen, found.length - 1));
    render(dialog,
      h("div", { class: "ask" }, icon("search"),
        h("input", { type: "text", placeholder: "Go to a Job, pod, queue …", "aria-label": "Search", autofocus: true, role: "combobox", "aria-expanded": "true",
          "aria-controls": "palette-list", "aria-activedescendant": found.length ? `palette-${chosen}` : null, autocomplete: "off", spellcheck: "false",
          oninput: (/** @type {any} */ event) => { words = event.target.value; chosen = 0; draw(); }, onkeydown: key })),
      h("ul", { id: "palette-list", role: "listbox", "aria-label": "Found" },
        found.map((entry, i) => h("li", { key: entry.href, id: `palette-${i}`, role: "option", "aria-selected": String(i === chosen), onclick: () => open(entry), onmousemove: () => { if (chosen !== i) { chosen = i; draw(); } } },
          icon(entry.sign), h("span", { class: "name" }, entry.name), h("span", { class: "where" }, entry.where)))),
      !found.length && h("p", { class: "hint" }, "Nothing has this name."));
    dialog.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  };

  /** @param {Entry} entry */
  const open = (entry) => {
    dialog.close();
    go(entry.href);
  };

  /** @param {KeyboardEvent} event */
  const key = (event) => {
    if (event.key === "ArrowDown") chosen++;
    else if (event.key === "ArrowUp") chosen--;
    else if (event.key === "Enter" && found[chosen]) return open(found[chosen]);
    else return;
    event.preventDefault();
    draw();
  };

  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  draw();
  dialog.showModal();
  await Promise.all(SEARCHED.map(async (id) => {
    try {
      const list = await get(pathOf(KINDS[id]), { limit: LISTED });
      for (const item of list.items) {
        entries.push({ name: item.metadata.name, where: `${KINDS[id].one}${item.metadata.namespace ? ` in ${item.metadata.namespace}` : ""}`, sign: id, href: pageOf(id, item) });
      }
      if (dialog.isConnected) draw();
    } catch {
      // Kinds that this person may not list are not found.
    }
  }));
}

/** @param {Entry[]} entries @param {string} words */
function best(entries, words) {
  const asked = words.toLowerCase().split(/\s+/).filter(Boolean);
  const scored = [];
  for (const entry of entries) {
    const name = entry.name.toLowerCase();
    const all = `${name} ${entry.where.toLowerCase()}`;
    if (!asked.every((word) => all.includes(word))) continue;
    const first = asked[0] ?? "";
    scored.push({ entry, score: (name === first ? 0 : name.startsWith(first) ? 1 : 2) * 1000 + name.length });
  }
  return scored.sort((a, b) => a.score - b.score).slice(0, SHOWN).map(({ entry }) => entry);
}
