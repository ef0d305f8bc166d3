// Descriptions of elements, and the smallest change that makes the page look like them. Text is always text: nothing
// here parses HTML.

/** @typedef {{tag: string, props: Record<string, any>, children: any[], key: any}} VNode */

const SVG = "http://www.w3.org/2000/svg";
const PROPERTIES = new Set(["value", "checked", "disabled", "selected", "hidden", "indeterminate"]);

/**
 * Describes an element. `.name` sets a property, `onclick` a listener, `style` takes an object, anything else is an
 * attribute; `key` says which element of the last drawing is the same one.
 * @param {string} tag
 * @param {Record<string, any> | null} [props]
 * @param {...any} children
 * @returns {VNode}
 */
export function h(tag, props, ...children) {
  return { tag, props: props ?? {}, children: flat(children), key: props?.key };
}

/** @param {any[]} children @returns {any[]} */
function flat(children) {
  const out = [];
  for (const child of children) {
    if (Array.isArray(child)) out.push(...flat(child));
    else if (child !== null && child !== undefined && child !== false && child !== true && child !== "") out.push(child);
  }
  return out;
}

/** Makes the content of `parent` look like `children`. @param {any} parent @param {...any} children */
export function render(parent, ...children) {
  patchChildren(parent, flat(children), parent.namespaceURI === SVG);
}

/** @param {any} parent @param {any[]} next @param {boolean} svg */
function patchChildren(parent, next, svg) {
  const old = [...parent.childNodes];
  const keyed = new Map();
  const free = [];
  for (const node of old) {
    if (node.$v?.key === undefined) free.push(node);
    else keyed.set(node.$v.key, node);
  }
  const kept = new Set();
  let at = 0;
  const nodes = next.map((child) => {
    let node;
    if (child.key !== undefined) {
      node = keyed.get(child.key);
      if (node && node.$v.tag !== child.tag) node = undefined;
      keyed.delete(child.key);
    } else {
      const found = free.findIndex((each, i) => i >= at && fits(each, child));
      if (found >= 0) {
        node = free[found];
        at = found + 1;
      }
    }
    if (node) kept.add(node);
    return node;
  });
  for (const node of old) if (!kept.has(node)) node.remove();
  let cursor = parent.firstChild;
  next.forEach((child, i) => {
    const node = nodes[i] ?? create(child, svg);
    if (node === cursor) cursor = cursor.nextSibling;
    else parent.insertBefore(node, cursor);
    if (nodes[i]) update(node, child, svg);
  });
}

/** @param {any} node @param {any} child */
function fits(node, child) {
  return typeof child === "object" ? node.$v?.tag === child.tag : node.nodeType === Node.TEXT_NODE;
}

/** @param {any} child @param {boolean} svg @returns {any} */
function create(child, svg) {
  if (typeof child !== "object") return document.createTextNode(String(child));
  const inSvg = svg || child.tag === "svg";
  /** @type {any} */
  const node = inSvg ? document.createElementNS(SVG, child.tag) : document.createElement(child.tag);
  node.$v = { tag: child.tag, props: {}, key: child.key };
  update(node, child, inSvg);
  return node;
}

/** @param {any} node @param {any} child @param {boolean} svg */
function update(node, child, svg) {
  if (typeof child !== "object") {
    if (node.nodeValue !== String(child)) node.nodeValue = String(child);
    return;
  }
  const before = node.$v.props;
  node.$v = child;
  for (const name in before) if (!(name in child.props)) set(node, name, null, before[name]);
  // A custom element owns what is inside it.
  if (!child.tag.includes("-")) patchChildren(node, child.children, svg || child.tag === "svg");
  for (const name in child.props) {
    const value = child.props[name];
    if (value !== before[name] || name === "value" || name === "checked") set(node, name, value, before[name]);
  }
}

/** @param {any} node @param {string} name @param {any} value @param {any} before */
function set(node, name, value, before) {
  if (name === "key") return;
  if (name === "ref") {
    if (value) value(node);
  } else if (name.startsWith("on")) {
    if (!node.$on) node.$on = {};
    if (!(name in node.$on)) node.addEventListener(name.slice(2), (/** @type {Event} */ event) => node.$on[name]?.(event));
    node.$on[name] = value;
  } else if (name.startsWith(".")) {
    node[name.slice(1)] = value;
  } else if (name === "style") {
    for (const part in before ?? {}) if (!value || !(part in value)) node.style.removeProperty(part);
    for (const part in value ?? {}) node.style.setProperty(part, value[part]);
  } else if (PROPERTIES.has(name)) {
    if (node[name] !== value) node[name] = value ?? "";
  } else if (value === null || value === undefined || value === false) {
    node.removeAttribute(name);
  } else {
    node.setAttribute(name, value === true ? "" : String(value));
  }
}

/** Elements have whatever properties their page gives them. @type {{new (): HTMLElement & Record<string, any>}} */
const Element = /** @type {any} */ (HTMLElement);

/** An element that draws itself: `view()` describes it, `draw()` asks for a drawing before the next frame. */
export class View extends Element {
  connectedCallback() {
    this.scope = new AbortController();
    this.start();
    this.drawNow();
  }

  disconnectedCallback() {
    this.scope?.abort();
  }

  /** Whether this element is on the page. */
  get alive() {
    return this.isConnected && !this.scope?.signal.aborted;
  }

  /** Begins what lasts until the element leaves the page (`this.scope.signal`). */
  start() {}

  /** @returns {any} */
  view() {
    return [];
  }

  draw() {
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => {
      this.due = false;
      if (this.alive) this.drawNow();
    });
  }

  drawNow() {
    render(this, this.view());
    this.drawn();
  }

  /** After each drawing. */
  drawn() {}

  /** Draws again every so many milliseconds, while the page is looked at. @param {number} ms */
  every(ms, what = () => this.draw()) {
    const timer = setInterval(() => document.visibilityState === "visible" && what(), ms);
    this.scope?.signal.addEventListener("abort", () => clearInterval(timer));
  }
}

/** A property that asks for a drawing when it is set. @param {any} type @param {...string} names */
export function properties(type, ...names) {
  for (const name of names) {
    Object.defineProperty(type.prototype, name, {
      get() {
        return this[`$${name}`];
      },
      set(value) {
        const before = this[`$${name}`];
        this[`$${name}`] = value;
        if (value === before) return;
        this.changed?.(name, before);
        if (this.isConnected) this.draw();
      },
    });
  }
}
