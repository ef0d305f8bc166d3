// Objects as YAML, as people write it. Only writes.

const PLAIN = /^[A-Za-z_./][A-Za-z0-9_./ -]*$/;
const RESERVED = /^(true|false|null|yes|no|on|off|y|n|~)$/i;

/** @param {any} value @param {string} [indent] @returns {string} */
export function dump(value, indent = "") {
  if (Array.isArray(value)) {
    if (!value.length) return `${indent}[]\n`;
    return value.map((each) => item(each, indent)).join("");
  }
  if (value !== null && typeof value === "object") {
    const keys = Object.keys(value).filter((key) => value[key] !== undefined);
    if (!keys.length) return `${indent}{}\n`;
    return keys.map((key) => pair(key, value[key], indent)).join("");
  }
  return `${indent}${scalar(value, indent)}\n`;
}

/** @param {any} value */
const nested = (value) => value !== null && typeof value === "object" && Object.keys(value).length > 0;

/** @param {any} value @param {string} indent */
function item(value, indent) {
  if (!nested(value)) return `${indent}- ${leaf(value, indent)}\n`;
  return `${indent}- ${dump(value, `${indent}  `).slice(indent.length + 2)}`;
}

/** @param {string} key @param {any} value @param {string} indent */
function pair(key, value, indent) {
  const name = scalar(key, indent);
  if (!nested(value)) return `${indent}${name}: ${leaf(value, indent)}\n`;
  return `${indent}${name}:\n${dump(value, Array.isArray(value) ? indent : `${indent}  `)}`;
}

/** @param {any} value @param {string} indent */
const leaf = (value, indent) => (Array.isArray(value) ? "[]" : value !== null && typeof value === "object" ? "{}" : scalar(value, indent));

/** @param {any} value @param {string} indent */
function scalar(value, indent) {
  if (typeof value !== "string") return String(value);
  if (value.includes("\n") && !/^\s|[\u0000-\u0008\u000b-\u001f]/.test(value)) {
    const body = value.replace(/\n$/, "").split("\n").map((line) => (line ? `${indent}  ${line}` : "")).join("\n");
    return `|${value.endsWith("\n") ? "" : "-"}\n${body}`;
  }
  return PLAIN.test(value) && !RESERVED.test(value) && !value.endsWith(" ") ? value : JSON.stringify(value);
}
