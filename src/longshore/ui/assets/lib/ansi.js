// Colours of terminals in log lines.

/** @typedef {{text: string, bold?: boolean, dim?: boolean, colour?: string}} Piece */

// Written by programs: escape sequences that start with a control character.
const SEQUENCE = /\u001b\[([0-9;]*)([A-Za-z])|\u001b[^[]|[\u0000-\u0008\u000b-\u001a\u001c-\u001f]/g;

/** The pieces of a line, each with its colour: `c0` to `c15`, or a CSS colour. @param {string} line @returns {Piece[]} */
export function pieces(line) {
  if (!line.includes("\u001b")) return [{ text: line }];
  const out = [];
  /** @type {{bold?: boolean, dim?: boolean, colour?: string}} */
  let style = {};
  let at = 0;
  for (const match of line.matchAll(SEQUENCE)) {
    if (match.index > at) out.push({ text: line.slice(at, match.index), ...style });
    at = match.index + match[0].length;
    if (match[2] === "m") style = styled(style, match[1].split(";").map(Number));
  }
  if (at < line.length) out.push({ text: line.slice(at), ...style });
  return out;
}

/** A line without its colours. @param {string} line */
export const bare = (line) => (line.includes("\u001b") ? line.replace(SEQUENCE, "") : line);

/** @param {{bold?: boolean, dim?: boolean, colour?: string}} style @param {number[]} codes */
export function styled(style, codes) {
  let now = { ...style };
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i];
    if (code === 0) now = {};
    else if (code === 1) now.bold = true;
    else if (code === 2) now.dim = true;
    else if (code === 22) now = { ...now, bold: false, dim: false };
    else if (code >= 30 && code <= 37) now.colour = `c${code - 30}`;
    else if (code >= 90 && code <= 97) now.colour = `c${code - 82}`;
    else if (code === 39) delete now.colour;
    else if (code === 38 && codes[i + 1] === 5) {
      now.colour = eightBit(codes[i + 2]);
      i += 2;
    } else if (code === 38 && codes[i + 1] === 2) {
      now.colour = `rgb(${codes[i + 2]}, ${codes[i + 3]}, ${codes[i + 4]})`;
      i += 4;
    }
  }
  return now;
}

/** @param {number} code */
function eightBit(code) {
  if (code < 16) return `c${code}`;
  if (code >= 232) {
    const grey = 8 + 10 * (code - 232);
    return `rgb(${grey}, ${grey}, ${grey})`;
  }
  const level = (/** @type {number} */ value) => (value ? 55 + 40 * value : 0);
  const left = code - 16;
  return `rgb(${level(Math.floor(left / 36))}, ${level(Math.floor(left / 6) % 6)}, ${level(left % 6)})`;
}
