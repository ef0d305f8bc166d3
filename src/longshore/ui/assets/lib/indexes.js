// Sets of indexes as Jobs write them: `1,3-5`.

/** @typedef {[number, number][]} Runs */

/** @param {string | undefined} text @returns {Runs} */
export function parse(text) {
  if (!text) return [];
  return text.split(",").map((part) => {
    const [first, last] = part.split("-").map(Number);
    return [first, last ?? first];
  });
}

/** @param {Runs} runs */
export const count = (runs) => runs.reduce((sum, [first, last]) => sum + last - first + 1, 0);

/** Marks every index of the runs. @param {Uint8Array} into @param {Runs} runs @param {number} value */
export function mark(into, runs, value) {
  for (const [first, last] of runs) into.fill(value, first, Math.min(last + 1, into.length));
}
