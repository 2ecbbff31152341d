const data = JSON.parse(document.getElementById("report-data").textContent);
// Texts come in parts that many share: a pattern, and what fills its holes.
const told = [];
const textOf = (number) => {
  const [pattern, ...inner] = data.texts[number];
  return told[number] ??= data.parts[pattern].replace(/\0/g, () => data.parts[inner.shift()]);
};
const WIDTH = 100000, LANE = 26, REACH = 8, FINGER = 20, LINES_SHOWN = 25, FEW = FEW_LANES, DAY = 86400000;
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5,
  36e5, 72e5, 108e5, 216e5, 432e5, DAY, 2 * DAY, 4 * DAY, 7 * DAY, 14 * DAY, 28 * DAY, 91 * DAY,
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3].map((years) => years * 365 * DAY)];
const $ = (id) => document.getElementById(id);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const counted = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
const state = { local: false, severity: "", group: "", cause: "", host: "", member: "", text: "" };
const pictures = new Map();
const chains = all(".chain");

const put = (parent, name, text) => {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  return parent.appendChild(element);
};
