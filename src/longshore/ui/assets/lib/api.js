// Requests to the API of this very server, with the login of the browser.

/** A refusal, with the server's words. */
export class Refusal extends Error {
  /** @param {number} code @param {any} status */
  constructor(code, status) {
    super(status?.message || `the server answered ${code}`);
    this.code = code;
    this.reason = status?.reason ?? "";
    this.causes = status?.details?.causes ?? [];
  }
}

/** The server cannot be reached. */
export class Unreachable extends Error {}

/**
 * @param {string} method
 * @param {string} path
 * @param {{body?: any, type?: string, query?: Record<string, any>, signal?: AbortSignal, accept?: string}} [more]
 * @returns {Promise<Response>}
 */
export async function request(method, path, { body, type = "application/json", query, signal, accept } = {}) {
  /** @type {Record<string, string>} */
  const headers = { Accept: accept ?? "application/json", "X-Longshore-UI": "1" };
  if (body !== undefined) headers["Content-Type"] = type;
  let answer;
  try {
    answer = await fetch(path + asked(query), {
      method,
      headers,
      signal,
      body: body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body),
      cache: "no-store",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Unreachable("longshore cannot be reached");
  }
  if (answer.ok) return answer;
  const text = await answer.text();
  let status;
  try {
    status = JSON.parse(text);
  } catch {
    status = { message: text.trim() };
  }
  if (answer.status === 401) dispatchEvent(new Event("longshore:signed-out"));
  throw new Refusal(answer.status, status);
}

/** @param {string} path @param {Record<string, any>} [query] @param {AbortSignal} [signal] @returns {Promise<any>} */
export const get = async (path, query, signal) => (await request("GET", path, { query, signal })).json();

/** @param {string} path @param {any} body @returns {Promise<any>} */
export const post = async (path, body) => (await request("POST", path, { body })).json();

/** A merge patch. @param {string} path @param {any} body @returns {Promise<any>} */
export const patch = async (path, body) =>
  (await request("PATCH", path, { body, type: "application/merge-patch+json" })).json();

/** @param {string} path @returns {Promise<any>} */
export const remove = async (path) =>
  (await request("DELETE", path, { body: { propagationPolicy: "Background" } })).json();

/** @param {string} path @param {Record<string, any>} [query] @param {string | string[]} [protocols] */
export const socket = (path, query, protocols) =>
  new WebSocket(`wss://${location.host}${path}${asked(query)}`, protocols);

/** @param {Record<string, any>} [query] */
function asked(query) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined && each !== null && each !== "") words.append(name, String(each));
    }
  }
  const text = words.toString();
  return text ? `?${text}` : "";
}
