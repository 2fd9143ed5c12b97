"use strict";
// Places for the numbers and names of groups, such that none covers another.
const LABEL_HEIGHT = 20, LABEL_GAP = 2, RING_STEP = 21, N_RINGS = 6, N_DIRECTIONS = 12; // as in label_places.py
const MAX_NAME_PIXELS = 240, MIN_NAMED_WIDTH = 560, MAX_NAMED = 16; // of a name, of a picture with names, and groups
const BUTTONS = [46, 126]; // width and height of the corner with the buttons, in pixels
// The name of a group, or "" if it has only its number.
const properName = (names, j) => (String(names[j] || "").toLowerCase() === `group ${j}` ? "" : names[j] || "");

const labelPlaces = (view, items, measure) => {
  const { left, top, wide, high } = view.area, rows = new Map();
  const rowOf = (y) => Math.floor(y / (LABEL_HEIGHT + LABEL_GAP));
  const isFree = (label) => {
    const r = rowOf(label.y);
    for (let row = r - 1; row <= r + 1; row += 1) {
      for (const other of rows.get(row) || []) {
        if (other !== label && Math.abs(label.x - other.x) < (label.wide + other.wide) / 2 + LABEL_GAP
          && Math.abs(label.y - other.y) < LABEL_HEIGHT + LABEL_GAP) return false;
      }
    }
    if (label.x + label.wide / 2 > view.wide - BUTTONS[0] && label.y - LABEL_HEIGHT / 2 < BUTTONS[1]) return false;
    return label.x - label.wide / 2 >= left && label.x + label.wide / 2 <= left + wide
      && label.y - LABEL_HEIGHT / 2 >= top - 10 && label.y + LABEL_HEIGHT / 2 <= top + high;
  };
  const keep = (label) => {
    const row = rowOf(label.y);
    if (!rows.has(row)) rows.set(row, []);
    rows.get(row).push(label);
  };
  const place = ({ j, x, y }) => {
    const label = { j, x, y, anchor: [x, y], wide: Math.max(LABEL_HEIGHT, measure(String(j)) + 11), name: "" };
    if (isFree(label)) return label;
    for (let ring = 1; ring <= N_RINGS; ring += 1) {
      for (let step = 0; step < N_DIRECTIONS; step += 1) {
        const angle = 2 * Math.PI * (step + 0.5 * (ring % 2)) / N_DIRECTIONS;
        Object.assign(label, { x: x + ring * RING_STEP * Math.cos(angle), y: y + ring * RING_STEP * Math.sin(angle) });
        if (isFree(label)) return label;
      }
    }
    return null;
  };
  const labels = [];
  let crowded = 0;
  items.forEach((item) => {
    const label = place(item);
    if (label) { keep(label); labels.push(label); } else crowded += 1;
  });
  // Where there is room, the name follows the number, on the right or around the center.
  const addName = (label, name) => {
    const more = measure(name) + 7, before = { x: label.x, wide: label.wide };
    for (const shift of [more / 2, 0, -more / 2]) {
      Object.assign(label, { x: before.x + shift, wide: before.wide + more, name });
      if (isFree(label)) return;
    }
    Object.assign(label, before, { name: "" });
  };
  if (view.wide >= MIN_NAMED_WIDTH && items.length <= MAX_NAMED) labels.forEach((label) => {
    const name = shortened(items.find(({ j }) => j === label.j).name, MAX_NAME_PIXELS, measure);
    if (name) addName(label, name);
  });
  return { labels, crowded };
};

// The beginning of a text that fits into a number of pixels.
const shortened = (text, pixels, measure) => {
  if (measure(text) <= pixels) return text;
  const letters = [...text];
  while (letters.length && measure(`${letters.join("")}…`) > pixels) letters.pop();
  return letters.length ? `${letters.join("").trimEnd()}…` : "";
};
