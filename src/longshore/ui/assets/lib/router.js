// Addresses and pages: every view has an address, and back and forward work.

/** @typedef {{path: string, parts: string[], query: URLSearchParams}} Place */

export const router = new EventTarget();

/** @returns {Place} */
export function here() {
  const path = location.pathname.replace(/^\/ui\/?/, "");
  return { path, parts: path.split("/").filter(Boolean).map(decodeURIComponent), query: new URLSearchParams(location.search) };
}

/** @param {string} address @param {{replace?: boolean}} [how] */
export function go(address, { replace = false } = {}) {
  const before = location.pathname;
  history[replace ? "replaceState" : "pushState"](null, "", address);
  if (location.pathname !== before) scrollTo(0, 0);
  router.dispatchEvent(new Event("change"));
}

/** Changes parts of the query; empty values leave it. @param {Record<string, string>} changes @param {{replace?: boolean}} [how] */
export function setQuery(changes, how = { replace: true }) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  go(location.pathname + (text ? `?${text}` : ""), how);
}

addEventListener("popstate", () => router.dispatchEvent(new Event("change")));

// Links of the dashboard change the page without loading it anew.
document.addEventListener("click", (event) => {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = /** @type {HTMLElement} */ (event.target).closest?.("a[href]");
  if (!(link instanceof HTMLAnchorElement) || link.target || link.download) return;
  if (link.origin !== location.origin || !link.pathname.startsWith("/ui")) return;
  if (link.hash && link.pathname === location.pathname) return;
  event.preventDefault();
  go(link.pathname + link.search);
});
