// A question before something that cannot be taken back. Names what it is about.

import { h, render } from "../lib/view.js";

const NAMED = 12;

/**
 * @param {{title: string, text?: string, names: string[], action: string, danger?: boolean}} question
 * @returns {Promise<boolean>}
 */
export function confirmed({ title, text = "", names, action, danger = false }) {
  return new Promise((resolve) => {
    const dialog = document.createElement("dialog");
    dialog.className = "dialog";
    dialog.setAttribute("aria-labelledby", "dialog-title");
    const more = names.length - NAMED;
    render(dialog,
      h("form", { method: "dialog" },
        h("h2", { id: "dialog-title" }, title),
        text && h("p", null, text),
        h("ul", { class: "names" },
          names.slice(0, NAMED).map((name) => h("li", null, h("code", null, name))),
          more > 0 && h("li", null, `and ${more} more`)),
        h("div", { class: "buttons" },
          h("button", { class: "button", value: "no", type: "submit", autofocus: !danger ? null : "" }, "Cancel"),
          h("button", { class: danger ? "button danger" : "button primary", value: "yes", type: "submit", autofocus: danger ? null : "" }, action))));
    dialog.addEventListener("close", () => {
      resolve(dialog.returnValue === "yes");
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
