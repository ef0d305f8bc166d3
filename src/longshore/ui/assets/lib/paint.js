// Canvases: sharp on every screen, in the colours of the page.

/** Fits a canvas to its size on the page. @param {HTMLCanvasElement} canvas @param {number} wide @param {number} tall */
export function fit(canvas, wide, tall) {
  const ratio = Math.min(devicePixelRatio || 1, 2);
  const [w, h] = [Math.max(1, Math.round(wide * ratio)), Math.max(1, Math.round(tall * ratio))];
  const fresh = canvas.width !== w || canvas.height !== h;
  if (fresh) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${wide}px`;
    canvas.style.height = `${tall}px`;
  }
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { pen, fresh };
}

/** The value of a variable of the style sheet. @param {string} name */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Follows width and colours for as long as `view` lives. @param {any} view @param {() => void} again */
export function onLook(view, again) {
  const watch = new ResizeObserver(() => again());
  watch.observe(view);
  addEventListener("themechange", again, { signal: view.scope.signal });
  view.scope.signal.addEventListener("abort", () => watch.disconnect());
}
