// A shell in a container: exec over a WebSocket, as kubectl does it.

import { socket } from "../lib/api.js";
import { icon } from "../lib/icons.js";
import { KINDS, pathOf } from "../lib/kinds.js";
import { h, render, properties, View } from "../lib/view.js";
import { Screen } from "../lib/vt.js";

const PROTOCOL = "v5.channel.k8s.io";
const [STDIN, STDOUT, STDERR, ERROR, RESIZE] = [0, 1, 2, 3, 4];
const SHELL = "if command -v bash >/dev/null; then exec bash; else exec sh; fi";
const LINE_PX = 18;
const KEYS = /** @type {Record<string, string>} */ ({
  Enter: "\r", Backspace: "\u007f", Tab: "\t", Escape: "\u001b", ArrowUp: "\u001b[A", ArrowDown: "\u001b[B", ArrowRight: "\u001b[C", ArrowLeft: "\u001b[D",
  Home: "\u001b[H", End: "\u001b[F", Delete: "\u001b[3~", PageUp: "\u001b[5~", PageDown: "\u001b[6~",
});

/** `namespace`, `pod` and its `containers`. */
class Terminal extends View {
  start() {
    this.container = this.containers?.[0] ?? "";
    this.said = "";
    const watch = new ResizeObserver(() => this.fit());
    watch.observe(this);
    this.scope?.signal.addEventListener("abort", () => {
      watch.disconnect();
      this.line?.close();
    });
  }

  view() {
    return [
      h("div", { class: "panel-head" }, h("h2", null, "Terminal"),
        (this.containers?.length ?? 0) > 1 && h("label", null, h("span", { class: "sr" }, "Container"), h("select", { class: "input", value: this.container, onchange: (/** @type {any} */ event) => (this.container = event.target.value) }, this.containers.map((/** @type {string} */ name) => h("option", { key: name, value: name }, name)))),
        h("span", { class: "hint", role: "status" }, this.said), h("span", { class: "spacer" }),
        h("button", { type: "button", class: "button small", onclick: () => (this.line ? this.line.close() : this.connect()) }, icon(this.line ? "close" : "terminal"), this.line ? "Close" : "Open a shell")),
      h("div", { class: "terminal", tabindex: "0", role: "textbox", "aria-multiline": "true", "aria-label": "Terminal. Shift and Tab leave it.", ref: (/** @type {any} */ node) => (this.box = node),
        onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event), onpaste: (/** @type {ClipboardEvent} */ event) => { event.preventDefault(); this.send(event.clipboardData?.getData("text") ?? ""); } },
        h("div", { class: "screen", key: "screen", ref: (/** @type {any} */ node) => (this.pane = node) })),
    ];
  }

  size() {
    const wide = this.box?.clientWidth ?? 600;
    const probe = document.createElement("span");
    probe.textContent = "MMMMMMMMMM";
    probe.className = "probe";
    this.box.append(probe);
    const char = probe.getBoundingClientRect().width / 10 || 8;
    probe.remove();
    return { columns: Math.max(20, Math.floor((wide - 24) / char)), rows: Math.max(6, Math.floor(((this.box?.clientHeight ?? 400) - 16) / LINE_PX)) };
  }

  fit() {
    if (!this.screen || !this.box) return;
    const { columns, rows } = this.size();
    if (columns === this.screen.columns && rows === this.screen.rows) return;
    this.screen.resize(columns, rows);
    this.tellSize();
    this.show();
  }

  tellSize() {
    if (this.screen) this.send(JSON.stringify({ Width: this.screen.columns, Height: this.screen.rows }), RESIZE);
  }

  connect() {
    const { columns, rows } = this.size();
    this.screen = new Screen(columns, rows);
    this.said = "connecting …";
    const query = { container: this.container, command: ["sh", "-c", SHELL], stdin: true, stdout: true, tty: true };
    const line = (this.line = socket(`${pathOf(KINDS.pods, this.namespace, this.pod)}/exec`, query, [PROTOCOL]));
    line.binaryType = "arraybuffer";
    const decoder = new TextDecoder();
    let opened = false;
    line.onopen = () => {
      opened = true;
      this.said = "connected";
      this.tellSize();
      this.draw();
      this.box?.focus();
    };
    line.onmessage = ({ data }) => {
      const bytes = new Uint8Array(data);
      if (bytes[0] === STDOUT || bytes[0] === STDERR) this.screen?.write(decoder.decode(bytes.subarray(1), { stream: true }));
      else if (bytes[0] === ERROR) this.ended(new TextDecoder().decode(bytes.subarray(1)));
      this.show();
    };
    line.onclose = () => {
      if (!opened) this.said = "the shell could not be opened; the story of the pod may say why";
      else if (this.said === "connected") this.said = "closed";
      this.line = undefined;
      this.draw();
    };
    this.draw();
  }

  /** @param {string} text the Status with which exec ends */
  ended(text) {
    try {
      const status = JSON.parse(text);
      const code = status.details?.causes?.find((/** @type {any} */ each) => each.reason === "ExitCode")?.message;
      this.said = status.status === "Success" ? "the shell has ended" : code ? `the shell ended with exit code ${code}` : status.message;
    } catch {
      this.said = "the shell has ended";
    }
    this.draw();
  }

  /** @param {string} text */
  send(text, channel = STDIN) {
    if (this.line?.readyState !== WebSocket.OPEN || !text) return;
    const bytes = new TextEncoder().encode(text);
    const framed = new Uint8Array(bytes.length + 1);
    framed[0] = channel;
    framed.set(bytes, 1);
    this.line.send(framed);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (!this.line || event.metaKey || (event.key === "Tab" && event.shiftKey)) return;
    if (event.ctrlKey && event.shiftKey) return; // copy and paste of the browser
    let text = KEYS[event.key] ?? "";
    if (event.ctrlKey && /^[a-z[\]\\]$/i.test(event.key)) text = String.fromCharCode(event.key.toUpperCase().charCodeAt(0) - 64);
    else if (!text && event.key.length === 1 && !event.ctrlKey) text = (event.altKey ? "\u001b" : "") + event.key;
    if (!text) return;
    event.preventDefault();
    this.send(text);
  }

  show() {
    if (this.showing || !this.pane) return;
    this.showing = true;
    requestAnimationFrame(() => {
      this.showing = false;
      this.paint();
    });
  }

  drawn() {
    this.paint();
  }

  /** Draws the screen, which the rest of this element knows nothing of. */
  paint() {
    const screen = this.screen;
    if (!screen || !this.pane) return;
    const past = screen.other ? [] : screen.past;
    const lines = [...past, ...screen.lines];
    render(this.pane, lines.map((line, i) => h("div", { key: i, class: "t-line" }, runs(line, screen.cursor && i === past.length + screen.y ? screen.x : -1))));
    this.box.scrollTop = this.box.scrollHeight;
  }
}
properties(Terminal, "pod", "containers");
customElements.define("ls-terminal", Terminal);

/** Cells of one style together. @param {import("../lib/vt.js").Cell[]} line @param {number} cursor */
function runs(line, cursor) {
  const out = [];
  let text = "";
  /** @type {any} */
  let style = null;
  const flush = () => {
    if (text) out.push(styledRun(text, style));
    text = "";
  };
  for (let i = 0; i < Math.max(line.length, cursor + 1); i++) {
    const cell = line[i] ?? { char: " ", style: {} };
    if (i === cursor) {
      flush();
      out.push(h("span", { class: "t-cursor" }, cell.char));
      continue;
    }
    if (cell.style !== style) flush();
    style = cell.style;
    text += cell.char;
  }
  flush();
  return out.length ? out : ["\u200b"];
}

/** @param {string} text @param {any} style */
function styledRun(text, style) {
  const named = style?.colour?.startsWith("c");
  const classes = [named && style.colour, style?.bold && "bold", style?.dim && "dim"].filter(Boolean).join(" ");
  return h("span", { class: classes || null, style: style?.colour && !named ? { color: style.colour } : null }, text);
}
