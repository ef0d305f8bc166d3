// Choices of the person at this browser. Nothing else is kept in it.

const PREFIX = "longshore.";

/** @param {string} name @param {string} [otherwise] */
export const preference = (name, otherwise = "") => localStorage.getItem(PREFIX + name) ?? otherwise;

/** @param {string} name @param {string} value */
export const prefer = (name, value) => localStorage.setItem(PREFIX + name, value);
