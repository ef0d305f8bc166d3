// A terminal's screen: takes the bytes of a program and keeps the cells. Knows what shells and simple programs use: colours,
// moving, erasing, inserting, scroll regions, the other screen.

import { styled } from "./ansi.js";

const MAX_SCROLLBACK = 2000;

/** @typedef {{char: string, style: any}} Cell */

export class Screen {
  /** @param {number} columns @param {number} rows */
  constructor(columns, rows) {
    this.columns = columns;
    this.rows = rows;
    /** @type {Cell[][]} */
    this.past = [];
    /** @type {any} */
    this.style = {};
    this.pending = "";
    this.cursor = true;
    this.reset();
  }

  reset() {
    /** @type {Cell[][]} */
    this.lines = Array.from({ length: this.rows }, () => []);
    this.x = 0;
    this.y = 0;
    this.top = 0;
    this.bottom = this.rows - 1;
    this.saved = { x: 0, y: 0 };
  }

  /** @param {number} columns @param {number} rows */
  resize(columns, rows) {
    while (this.lines.length > rows) {
      if (this.y >= rows) {
        const line = this.lines.shift();
        if (line) this.past.push(line);
        this.y--;
      } else {
        this.lines.pop();
      }
    }
    while (this.lines.length < rows) this.lines.push([]);
    this.columns = columns;
    this.rows = rows;
    this.top = 0;
    this.bottom = rows - 1;
    this.x = Math.min(this.x, columns - 1);
    this.y = Math.min(this.y, rows - 1);
  }

  /** @param {string} text */
  write(text) {
    const all = this.pending + text;
    this.pending = "";
    for (let i = 0; i < all.length; i++) {
      const char = all[i];
      if (char === "\u001b") {
        const used = this.escape(all, i);
        if (used === 0) {
          this.pending = all.slice(i);
          return;
        }
        i += used - 1;
      } else if (char === "\n") this.newline();
      else if (char === "\r") this.x = 0;
      else if (char === "\b") this.x = Math.max(0, this.x - 1);
      else if (char === "\t") this.x = Math.min(this.columns - 1, (Math.floor(this.x / 8) + 1) * 8);
      else if (char >= " ") this.put(char);
    }
  }

  /** @param {string} char */
  put(char) {
    if (this.x >= this.columns) {
      this.x = 0;
      this.newline();
    }
    const line = this.lines[this.y];
    while (line.length < this.x) line.push({ char: " ", style: {} });
    line[this.x++] = { char, style: this.style };
  }

  newline() {
    if (this.y === this.bottom) this.scroll(1);
    else if (this.y < this.rows - 1) this.y++;
  }

  /** @param {number} by */
  scroll(by) {
    for (; by > 0; by--) {
      const [gone] = this.lines.splice(this.top, 1);
      this.lines.splice(this.bottom, 0, []);
      if (this.top === 0 && !this.other) {
        this.past.push(gone);
        if (this.past.length > MAX_SCROLLBACK) this.past.shift();
      }
    }
    for (; by < 0; by++) {
      this.lines.splice(this.bottom, 1);
      this.lines.splice(this.top, 0, []);
    }
  }

  /** Takes one sequence; returns its length, 0 while it is not whole. @param {string} all @param {number} at */
  escape(all, at) {
    const next = all[at + 1];
    if (next === undefined) return 0;
    if (next === "[") {
      let end = at + 2;
      while (end < all.length && (all[end] < "@" || all[end] > "~")) end++;
      if (end >= all.length) return 0;
      this.control(all.slice(at + 2, end), all[end]);
      return end - at + 1;
    }
    if (next === "]") {
      for (let end = at + 2; end < all.length; end++) {
        if (all[end] === "\u0007") return end - at + 1;
        if (all[end] === "\u001b" && all[end + 1] === "\\") return end - at + 2;
      }
      return 0;
    }
    if (next === "(" || next === ")") return all[at + 2] === undefined ? 0 : 3;
    if (next === "7") this.saved = { x: this.x, y: this.y };
    else if (next === "8") ({ x: this.x, y: this.y } = this.saved);
    else if (next === "M") {
      if (this.y === this.top) this.scroll(-1);
      else this.y = Math.max(0, this.y - 1);
    } else if (next === "c") this.reset();
    return 2;
  }

  /** @param {string} words @param {string} letter */
  control(words, letter) {
    const numbers = words.replace(/^[?>=]/, "").split(";").map((each) => (each === "" ? 0 : Number(each)));
    const first = numbers[0] || 1;
    const place = (/** @type {number} */ x, /** @type {number} */ y) => {
      this.x = Math.max(0, Math.min(this.columns - 1, x));
      this.y = Math.max(0, Math.min(this.rows - 1, y));
    };
    const line = this.lines[this.y];
    if (letter === "A") place(this.x, this.y - first);
    else if (letter === "B") place(this.x, this.y + first);
    else if (letter === "C") place(this.x + first, this.y);
    else if (letter === "D") place(this.x - first, this.y);
    else if (letter === "G") place(first - 1, this.y);
    else if (letter === "d") place(this.x, first - 1);
    else if (letter === "H" || letter === "f") place((numbers[1] || 1) - 1, first - 1);
    else if (letter === "J") this.erase(numbers[0]);
    else if (letter === "K") this.eraseLine(numbers[0]);
    else if (letter === "P") line.splice(this.x, first);
    else if (letter === "@") line.splice(this.x, 0, ...Array.from({ length: first }, () => ({ char: " ", style: {} })));
    else if (letter === "X") for (let i = 0; i < first && this.x + i < line.length; i++) line[this.x + i] = { char: " ", style: {} };
    else if (letter === "L" || letter === "M") {
      const kept = this.top;
      this.top = this.y;
      const past = this.past.length;
      this.scroll(letter === "L" ? -first : first);
      this.past.length = Math.min(past, this.past.length);
      this.top = kept;
    } else if (letter === "S") this.scroll(first);
    else if (letter === "T") this.scroll(-first);
    else if (letter === "r") {
      this.top = (numbers[0] || 1) - 1;
      this.bottom = (numbers[1] || this.rows) - 1;
      place(0, 0);
    } else if (letter === "m") this.style = styled(this.style, numbers);
    else if ((letter === "h" || letter === "l") && words.startsWith("?")) this.mode(numbers, letter === "h");
  }

  /** @param {number[]} numbers @param {boolean} on */
  mode(numbers, on) {
    if (numbers.includes(25)) this.cursor = on;
    if (!numbers.includes(1049) && !numbers.includes(47)) return;
    if (on && !this.other) {
      this.other = { lines: this.lines, x: this.x, y: this.y };
      this.reset();
    } else if (!on && this.other) {
      ({ lines: this.lines, x: this.x, y: this.y } = this.other);
      this.other = undefined;
      this.resize(this.columns, this.rows);
    }
  }

  /** @param {number} what */
  erase(what) {
    if (what === 0) {
      this.eraseLine(0);
      for (let y = this.y + 1; y < this.rows; y++) this.lines[y] = [];
    } else if (what === 1) {
      this.eraseLine(1);
      for (let y = 0; y < this.y; y++) this.lines[y] = [];
    } else {
      this.lines = this.lines.map(() => []);
    }
  }

  /** @param {number} what */
  eraseLine(what) {
    const line = this.lines[this.y];
    if (what === 0) line.length = Math.min(line.length, this.x);
    else if (what === 1) for (let i = 0; i <= this.x && i < line.length; i++) line[i] = { char: " ", style: {} };
    else this.lines[this.y] = [];
  }
}
