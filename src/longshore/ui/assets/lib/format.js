// Times, spans and numbers as people read them.

const UNITS = [
  ["d", 86400],
  ["h", 3600],
  ["m", 60],
  ["s", 1],
];

/** Seconds since 1970 of an RFC 3339 time; NaN without one. @param {string | undefined | null} text */
export const seconds = (text) => (text ? Date.parse(text) / 1000 : NaN);

export const now = () => Date.now() / 1000;

/** `1h 5m`: the two largest units. @param {number} span */
export function span(span) {
  if (!Number.isFinite(span)) return "";
  if (span < 0) span = 0;
  if (span < 10 && span % 1 > 0.04) return `${span.toFixed(1)}s`;
  let left = Math.round(span);
  const parts = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(left / Number(size));
    if (count || (unit === "s" && !parts.length)) parts.push(`${count}${unit}`);
    else if (parts.length) break;
    left -= count * Number(size);
    if (parts.length === 2) break;
  }
  return parts.join(" ");
}

/** `5m ago`. @param {string | undefined} text */
export function ago(text) {
  const at = seconds(text);
  if (!Number.isFinite(at)) return "";
  const passed = now() - at;
  return passed < 1 ? "now" : `${span(Math.floor(passed)).split(" ")[0]} ago`;
}

const WHEN = {
  clock: { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false },
  day: { day: "numeric", month: "short" },
  full: { dateStyle: "medium", timeStyle: "medium", hour12: false },
};
const form = (/** @type {string | undefined} */ zone, /** @type {any} */ shape) => new Intl.DateTimeFormat(undefined, { ...shape, timeZone: zone });
/** @type {string | undefined} */
let shownIn;
let CLOCK = form(shownIn, WHEN.clock);
let DAY = form(shownIn, WHEN.day);
let FULL = form(shownIn, WHEN.full);

/** Shows times as clocks of this zone do, in place of the browser's. @param {string} zone */
export function showIn(zone) {
  [CLOCK, DAY, FULL] = [form(zone, WHEN.clock), form(zone, WHEN.day), form(zone, WHEN.full)];
  shownIn = zone;
}

/** Seconds by which clocks are ahead of UTC at that moment. @param {number} at */
export function ahead(at) {
  const date = new Date(at * 1000);
  if (!shownIn) return -date.getTimezoneOffset() * 60;
  const said = form(shownIn, { timeZoneName: "longOffset" }).formatToParts(date).find((part) => part.type === "timeZoneName");
  const [, sign, hours, minutes] = /([+-])(\d+):(\d+)/.exec(said?.value ?? "") ?? [];
  return hours ? (sign === "-" ? -1 : 1) * (Number(hours) * 3600 + Number(minutes) * 60) : 0;
}

/** `14:03:59`, with the day if it is another, or in a zone that was chosen. @param {string | number | undefined} at */
export function clock(at) {
  const date = new Date(typeof at === "number" ? at * 1000 : (at ?? NaN));
  if (Number.isNaN(date.getTime())) return "";
  const text = CLOCK.format(date);
  return !shownIn && date.toDateString() === new Date().toDateString() ? text : `${DAY.format(date)} ${text}`;
}

/** @param {string | number | undefined} at */
export function full(at) {
  const date = new Date(typeof at === "number" ? at * 1000 : (at ?? NaN));
  return Number.isNaN(date.getTime()) ? "" : FULL.format(date);
}

const NUMBER = new Intl.NumberFormat("en-GB");

/** `12,345`. @param {number} value */
export const number = (value) => NUMBER.format(value);

/** `1 pod`, `3 pods`. @param {number} count @param {string} one @param {string} [many] */
export const counted = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

const SUFFIXES = /** @type {Record<string, number>} */ ({
  n: 1e-9, u: 1e-6, m: 1e-3, "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18,
  Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60,
});

/** The value of a quantity such as `100m` or `2Gi`. @param {string | number | undefined} text */
export function quantity(text) {
  const match = /^([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([a-zA-Z]*)$/.exec(String(text ?? ""));
  return match ? Number(match[1]) * (SUFFIXES[match[2]] ?? 1) : 0;
}

/** @param {string} resource @param {number} value */
export function amount(resource, value) {
  if (resource === "memory" || resource.includes("storage")) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let at = 0;
    while (value >= 1024 && at < units.length - 1) {
      value /= 1024;
      at++;
    }
    return `${value >= 100 || at === 0 ? Math.round(value) : value.toFixed(1)} ${units[at]}`;
  }
  return value >= 100 || Number.isInteger(value) ? number(Math.round(value)) : value.toFixed(value < 0.1 && value > 0 ? 3 : 2).replace(/0+$/, "").replace(/\.$/, "");
}
