// Short messages at the edge of the page, read aloud by screen readers.

const SHOWN_MS = 7000;

/** @param {string} text @param {"done" | "failed"} [tone] */
export function say(text, tone = "done") {
  const place = document.getElementById("said");
  if (!place) return;
  const made = document.createElement("p");
  made.className = `toast ${tone}`;
  made.textContent = text;
  place.append(made);
  setTimeout(() => made.remove(), SHOWN_MS);
}

/** Does something, and says how it went. @param {() => Promise<string>} what */
export async function tried(what) {
  try {
    say(await what());
    return true;
  } catch (error) {
    say(error instanceof Error ? error.message : String(error), "failed");
    return false;
  }
}
