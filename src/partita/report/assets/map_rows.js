"use strict";
// The rows of the map: unpacked, and placed along the axes that the reader chose.
const ARRAY_KINDS = { u2: Uint16Array, u4: Uint32Array, f4: Float32Array, f8: Float64Array };
const GRID_STEPS = 65535; // positions along an axis that is packed as 16-bit integers
const unpack = (text, kind) => {
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i += 1) bytes[i] = letters.charCodeAt(i);
  return new ARRAY_KINDS[kind](bytes.buffer);
};

const mapRows = (map) => {
  const labels = unpack(map.labels, "u2"), numbers = unpack(map.rows, "u4"), m = labels.length;
  const columns = map.values.map((text, t) => unpack(text, map.types[t]));
  const visible = new Uint8Array(m), placed = new Map();
  const self = { labels, numbers, columns, m, visible, x: null, y: null, axes: [0, 1], centers: [], missing: 0 };

  // Positions of rows along an axis: 0 and 1 are the ends of its box; NaN where a value is missing.
  const positions = (a) => {
    if (placed.has(a)) return placed.get(a);
    const axis = map.axes[a], made = new Float32Array(m);
    if (axis.packed) {
      const steps = unpack(axis.packed.data, axis.packed.type), unit = axis.packed.type === "u2" ? GRID_STEPS : 1;
      for (let i = 0; i < m; i += 1) made[i] = steps[i] / unit;
    } else {
      const column = columns[axis.feature], low = axis.box[0] / 2, span = axis.box[1] / 2 - low; // halves: no overflow
      for (let i = 0; i < m; i += 1) made[i] = Number.isFinite(column[i]) ? (column[i] / 2 - low) / span : NaN;
    }
    placed.set(a, made);
    return made;
  };
  const means = () => { // of the rows of every group, where the plane is not the first one
    const sums = new Float64Array(3 * map.k);
    for (let i = 0; i < m; i += 1) {
      const j = labels[i];
      if (j >= map.k || Number.isNaN(self.x[i] + self.y[i])) continue;
      sums[3 * j] += self.x[i];
      sums[3 * j + 1] += self.y[i];
      sums[3 * j + 2] += 1;
    }
    return Array.from({ length: map.k }, (_, j) => [sums[3 * j] / sums[3 * j + 2], sums[3 * j + 1] / sums[3 * j + 2]]);
  };
  self.isFirstPlane = () => self.axes[0] === 0 && self.axes[1] === 1;
  self.choose = (across, up) => {
    self.axes = [across, up];
    self.x = positions(across);
    self.y = positions(up);
    self.centers = self.isFirstPlane() ? map.centers : means();
    self.missing = 0;
    for (let i = 0; i < m; i += 1) self.missing += Number.isNaN(self.x[i] + self.y[i]);
  };
  self.sizes = new Uint32Array(map.k); // rows drawn of every group
  for (let i = 0; i < m; i += 1) if (labels[i] < map.k) self.sizes[labels[i]] += 1;
  self.bySize = [...Array(map.k).keys()].filter((j) => self.sizes[j]).sort((a, b) => self.sizes[b] - self.sizes[a] || a - b);
  // Mark the rows of groups that are not hidden, and return how many these are.
  self.update = (hidden) => {
    let shown = 0;
    for (let i = 0; i < m; i += 1) {
      const seen = !hidden.has(labels[i]);
      shown += seen;
      visible[i] = seen && !Number.isNaN(self.x[i] + self.y[i]);
    }
    return shown;
  };
  // The visible row of least price; a price is a function of the distances in pixels, and of the row.
  self.nearest = (at, scale, price, maxPrice) => {
    let best = -1, lowest = maxPrice;
    for (let i = 0; i < m; i += 1) {
      if (!visible[i]) continue;
      const now = price((self.x[i] - at[0]) * scale[0], (at[1] - self.y[i]) * scale[1], i);
      if (now < lowest) { lowest = now; best = i; }
    }
    return best;
  };
  self.choose(0, 1);
  return self;
};

// Find rows by id or number: all that match, or a sentence that says why there is none.
const findRows = (map, rows, text) => {
  const wanted = text.trim().toLowerCase(), digits = /^(?:row\s*)?#?(\d+)$/.exec(wanted);
  if (!wanted) return { matches: [], message: "" };
  const ids = map.ids ? map.ids.map((id) => id.toLowerCase()) : [], number = digits ? Number(digits[1]) : NaN;
  const all = [...rows.labels.keys()], matching = (test) => all.filter(test);
  const cut = wanted.length > 40 ? `${wanted.slice(0, 26)}…${wanted.slice(-13)}` : wanted; // as ids are shown: `row_name`
  let matches = ids.length ? matching((i) => ids[i] === cut) : [];
  if (!matches.length && digits) matches = matching((i) => rows.numbers[i] === number);
  if (!matches.length && ids.length) matches = matching((i) => ids[i].includes(wanted));
  if (matches.length) return { matches: matches.sort((a, b) => rows.numbers[a] - rows.numbers[b]), message: "" };
  const sample = `the map draws ${grouped(String(rows.m))} of ${grouped(String(map.total))} rows`;
  const what = digits ? `Row ${digits[1]}` : `“${text.trim().slice(0, 40)}”`;
  return { matches, message: rows.m < map.total ? `${what} is not drawn: ${sample}.` : `${what} is not on this map.` };
};
