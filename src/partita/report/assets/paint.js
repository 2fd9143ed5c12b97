"use strict";
// Painting of the map with the pen of a canvas, or with a pen that writes SVG (map_export.js).
const N_COLORS = 8; // colours; the style sheet has them as --c0, --c1, …
const MAX_STAMPED_ROWS = 6000; // more rows are blended into the pixels themselves
const MAP_FONT = "12px system-ui, sans-serif", LABEL_FONT = `600 ${MAP_FONT}`;
const VECTOR_OPACITY = 0.75; // of a path, where rows that overlap are not darker
const FADED = 0.12; // opacity of groups that are not pointed at, of their own
const grouped = (text) => text.replace(/\d+/, (digits) => digits.replace(/\B(?=(\d{3})+$)/g, "\u202f")).replace("-", "−");

// A value of the data, formatted like `value_text` formats it in the tables: integers in full, others with up to six digits.
const valueText = (value) => {
  if (Number.isNaN(value)) return "missing";
  const size = Math.abs(value);
  if (size === Infinity) return value > 0 ? "∞" : "−∞";
  if (size < 1e15 && (Number.isInteger(value) || size >= 1e5)) return grouped((value + 0).toFixed(0));
  if (size >= 1e-4 && size < 1e5) return grouped(String(Number(value.toPrecision(6))));
  return value.toExponential(5).replace(/\.?0+e/, "e").replace(/e([+-])(\d)$/, "e$10$2").replaceAll("-", "−");
};
const dayText = (days) => { // a date, of days since 1970; the year has at most four digits
  const date = new Date(days * 86400e3);
  return Math.abs(days) < 2.9e6 && date.getUTCFullYear() > 0 ? date.toISOString().slice(0, 10) : valueText(days);
};
const readColors = () => {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  const groups = [...Array(N_COLORS).keys()].map((j) => read(`--c${j}`));
  return { groups, ink: read("--ink"), soft: read("--soft"), rule: read("--rule"), paper: read("--paper") };
};
const lightColors = () => { // of a picture to save, in any theme
  const root = document.documentElement, before = root.dataset.theme;
  root.dataset.theme = "light";
  const colors = readColors();
  if (before) root.dataset.theme = before; else delete root.dataset.theme;
  return colors;
};

const painter = (map, rows, view, state) => {
  const { labels, m } = rows;
  const grid = map.grid && unpack(map.grid.labels, "u2");
  const outline = (j) => map.outlines[j < map.k ? Math.floor(j / N_COLORS) % map.outlines.length : 0];
  const colorOf = (j, colors) => (j < map.k ? colors.groups[j % N_COLORS] : colors.soft);
  const isFaded = (j) => state.highlight >= 0 && state.highlight !== j;

  // --- cells -------------------------------------------------------------------------
  const regions = (pen, s, colors) => { // one pixel for each prediction, stretched
    const { rows: high, columns: wide, box } = map.grid;
    const small = document.createElement("canvas"), dot = small.getContext("2d");
    small.width = wide;
    small.height = high;
    for (let i = 0; i < grid.length; i += 1) {
      if (state.hidden.has(grid[i]) || isFaded(grid[i])) continue;
      dot.fillStyle = colorOf(grid[i], colors);
      dot.fillRect(i % wide, high - 1 - Math.floor(i / wide), 1, 1);
    }
    const spanX = (box[2] - box[0]) * s[0], spanY = (box[3] - box[1]) * s[1], a = spanX / (wide - 1), b = spanY / (high - 1);
    pen.globalAlpha = 0.16;
    pen.imageSmoothingEnabled = false;
    pen.drawImage(small, view.placeX(box[0], s) - a / 2, view.placeY(box[3], s) - b / 2, spanX + a, spanY + b);
    pen.imageSmoothingEnabled = true;
    pen.globalAlpha = 1;
  };
  const cells = (pen, s, colors) => {
    if (grid) regions(pen, s, colors);
    map.cells.forEach((corners, j) => {
      if (corners.length < 3) return;
      pen.beginPath();
      corners.forEach(([u, v]) => pen.lineTo(view.placeX(u, s), view.placeY(v, s)));
      pen.closePath();
      if (!state.hidden.has(j) && !isFaded(j)) {
        pen.globalAlpha = 0.13;
        pen.fillStyle = colorOf(j, colors);
        pen.fill();
      }
      pen.globalAlpha = 0.7;
      pen.lineWidth = 1;
      pen.strokeStyle = colors.rule;
      pen.stroke();
      pen.globalAlpha = 1;
    });
  };

  // --- rows --------------------------------------------------------------------------
  const opacity = () => Math.min(0.9, Math.max(0.28, 40 / Math.sqrt(m)));
  const radiusOf = () => { // shapes need more room than dots
    const smallest = map.k > N_COLORS ? 2.2 : 1.3;
    return Math.min(3.6, Math.max(smallest, 95 / Math.sqrt(m))) * Math.min(1.6, Math.sqrt(view.zoom));
  };
  const stampOf = (j, colors, ratio) => { // one small canvas per marker
    const radius = radiusOf(), side = Math.ceil(2.6 * radius * ratio) + 2;
    const stamp = document.createElement("canvas");
    stamp.width = stamp.height = side;
    const pen = stamp.getContext("2d");
    pen.translate(side / 2, side / 2);
    pen.scale(radius * ratio, radius * ratio);
    pen.fillStyle = colorOf(j, colors);
    pen.fill(new Path2D(outline(j)));
    return stamp;
  };
  const remember = (make) => {
    const made = new Map();
    return (j) => {
      if (!made.has(j)) made.set(j, make(j));
      return made.get(j);
    };
  };
  const inOrder = (paint) => { // the group that is pointed at lies above the others
    const top = state.highlight;
    for (let i = 0; i < m; i += 1) if (rows.visible[i] && labels[i] !== top) paint(i);
    if (top >= 0) for (let i = 0; i < m; i += 1) if (rows.visible[i] && labels[i] === top) paint(i);
  };
  const stamped = (pen, s, colors, ratio) => {
    const stamp = remember((j) => stampOf(j, colors, ratio)), alpha = opacity();
    inOrder((i) => {
      const x = view.placeX(rows.x[i], s), y = view.placeY(rows.y[i], s);
      if (x < -9 || y < -9 || x > view.wide + 9 || y > view.high + 9) return;
      const image = stamp(labels[i]), side = image.width / ratio;
      pen.globalAlpha = isFaded(labels[i]) ? alpha * FADED : alpha;
      pen.drawImage(image, x - side / 2, y - side / 2, side, side);
    });
    pen.globalAlpha = 1;
  };
  // The pixels that a marker covers: offsets from its upper left corner, colour and weights of 256.
  const maskOf = (j, colors, ratio, width) => {
    const stamp = stampOf(j, colors, ratio), side = stamp.width;
    const { data } = stamp.getContext("2d").getImageData(0, 0, side, side);
    const alpha = opacity() * (isFaded(j) ? FADED : 1), offsets = [], weights = [];
    for (let p = 0; p < side * side; p += 1) {
      const weight = Math.round(data[4 * p + 3] / 255 * alpha * 256);
      if (!weight) continue;
      offsets.push(4 * (Math.floor(p / side) * width + p % side));
      weights.push(weight);
    }
    const middle = 4 * (Math.floor(side / 2) * side + Math.floor(side / 2));
    return { side, offsets: Int32Array.from(offsets), weights: Int32Array.from(weights), color: data.slice(middle, middle + 3) };
  };
  const blended = (pen, s, colors, ratio) => {
    const image = pen.getImageData(0, 0, pen.canvas.width, pen.canvas.height), { width, height } = image;
    const pixels = new Uint8Array(image.data.buffer), mask = remember((j) => maskOf(j, colors, ratio, width));
    const { left, top, wide, high } = view.area; // markers stay away from the numbers along the axes
    const box = [left - 5, top - 10, left + wide + 12, top + high + 4].map((edge) => Math.round(edge * ratio));
    inOrder((i) => {
      const { side, offsets, weights, color } = mask(labels[i]);
      const x = Math.round(view.placeX(rows.x[i], s) * ratio - side / 2), y = Math.round(view.placeY(rows.y[i], s) * ratio - side / 2);
      if (x < box[0] || y < box[1] || x + side > Math.min(box[2], width) || y + side > Math.min(box[3], height)) return;
      const start = 4 * (y * width + x), r = color[0], g = color[1], b = color[2];
      for (let p = 0; p < offsets.length; p += 1) {
        const at = start + offsets[p], w = weights[p];
        pixels[at] += ((r - pixels[at]) * w) >> 8;
        pixels[at + 1] += ((g - pixels[at + 1]) * w) >> 8;
        pixels[at + 2] += ((b - pixels[at + 2]) * w) >> 8;
      }
    });
    pen.putImageData(image, 0, 0);
  };
  const drawn = (pen, s, colors) => { // one path for each group
    const paths = new Map(), radius = radiusOf();
    inOrder((i) => {
      const x = view.placeX(rows.x[i], s), y = view.placeY(rows.y[i], s);
      if (!view.isSeen(x, y)) return;
      if (!paths.has(labels[i])) paths.set(labels[i], []);
      paths.get(labels[i]).push([x, y]);
    });
    paths.forEach((places, j) => pen.addPoints(places, outline(j), radius, colorOf(j, colors), VECTOR_OPACITY));
  };

  // --- labels and axes ---------------------------------------------------------------
  const numbers = (pen, s, colors) => {
    pen.font = LABEL_FONT;
    const items = rows.bySize.filter((j) => !state.hidden.has(j)).map((j) => {
      const [u, v] = rows.centers[j];
      return { j, x: view.placeX(u, s), y: view.placeY(v, s), name: properName(state.names, j) };
    });
    const seen = items.filter(({ x, y }) => view.isSeen(x, y));
    const { labels: placed, crowded } = labelPlaces(view, seen, (text) => pen.measureText(text).width);
    placed.forEach((label) => leader(pen, label, colors));
    placed.forEach((label) => pill(pen, label, colors));
    return { crowded, outside: items.length - seen.length };
  };
  const leader = (pen, { j, x, y, anchor: [a, b] }, colors) => {
    if (Math.hypot(x - a, y - b) < LABEL_HEIGHT / 2 || Math.abs(y - b) < 1) return;
    pen.globalAlpha = isFaded(j) ? 0.3 : 1;
    pen.lineWidth = 1;
    pen.strokeStyle = pen.fillStyle = colorOf(j, colors);
    pen.beginPath();
    pen.moveTo(a, b);
    pen.lineTo(x, y);
    pen.stroke();
    pen.beginPath();
    pen.arc(a, b, 2.5, 0, 2 * Math.PI);
    pen.fill();
    pen.globalAlpha = 1;
  };
  const pill = (pen, { j, x, y, wide, name }, colors) => {
    const left = x - wide / 2, digits = pen.measureText(String(j)).width;
    pen.globalAlpha = isFaded(j) ? 0.3 : 0.92;
    pen.beginPath();
    pen.roundRect(left, y - LABEL_HEIGHT / 2, wide, LABEL_HEIGHT, LABEL_HEIGHT / 2);
    pen.fillStyle = colors.paper;
    pen.fill();
    pen.lineWidth = 1.6;
    pen.strokeStyle = colorOf(j, colors);
    pen.stroke();
    pen.globalAlpha = isFaded(j) ? 0.4 : 1;
    pen.fillStyle = colors.ink;
    pen.textBaseline = "middle";
    pen.textAlign = "left";
    const start = name ? left + 8 : x - digits / 2;
    pen.fillText(String(j), start, y + 0.5);
    if (name) pen.fillText(name, start + digits + 6, y + 0.5);
    pen.globalAlpha = 1;
  };
  const caption = (axis, pixels, measure) => { // as many words as there is room for
    const share = axis.share ? ` (${axis.share})` : "";
    for (let count = axis.parts.length; count > 0; count -= 1) {
      const text = `→ ${axis.parts.slice(0, count).join(", ")}`;
      const fitting = [text + share, text].find((candidate) => measure(candidate) <= pixels);
      if (fitting) return fitting;
    }
    return measure(axis.name + share) <= pixels ? axis.name + share : shortened(axis.name, pixels, measure);
  };
  const axes = (pen, s, colors) => {
    const { left, top, wide, high } = view.area, measure = (text) => pen.measureText(text).width, bottom = top + high;
    pen.font = MAP_FONT;
    pen.fillStyle = colors.soft;
    pen.textBaseline = "alphabetic";
    pen.textAlign = "center";
    pen.fillText(caption(view.axis(0), wide, measure), left + wide / 2, view.high - 9);
    pen.save();
    pen.translate(16, top + high / 2);
    pen.rotate(-Math.PI / 2); // an arrow to the right points up then
    pen.fillText(caption(view.axis(1), high, measure), 0, 0);
    pen.restore();
    view.ticks(0, s, Math.min(6, wide / 90)).forEach(({ text, position }) => pen.fillText(text, view.placeX(position, s), bottom + 17));
    pen.textAlign = "right";
    view.ticks(1, s, 5).forEach(({ text, position }) => pen.fillText(text, left - 7, view.placeY(position, s) + 4, left - 28));
  };

  const layer = (pen, colors, ratio) => {
    const { left, top, wide, high } = view.area, s = view.scale();
    pen.save();
    pen.beginPath(); // do not paint over the words and numbers along the axes
    pen.rect(left - 5, top - 10, wide + 17, high + 14);
    pen.clip();
    if (rows.isFirstPlane()) cells(pen, s, colors);
    if (pen.addPoints) drawn(pen, s, colors);
    else (m > MAX_STAMPED_ROWS ? blended : stamped)(pen, s, colors, ratio);
    const counts = numbers(pen, s, colors);
    pen.restore();
    axes(pen, s, colors);
    return counts;
  };
  // Paint everything on a pen; returns how many numbers of groups found no room.
  const paint = (pen, colors, ratio) => {
    pen.fillStyle = colors.paper;
    pen.fillRect(0, 0, view.wide, view.high);
    return layer(pen, colors, ratio);
  };
  return { paint, colorOf, outline };
};
