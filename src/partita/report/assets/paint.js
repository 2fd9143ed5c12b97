"use strict";
// Painting of the map on a canvas; map.js handles the events.
const N_COLORS = 8; // colours; the style sheet has them as --c0, --c1, …
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

const painter = (map, canvas, view, hidden) => {
  const GRID_STEPS = 65535, MARGIN = 26, TICK_MARGIN = 44, FONT = "12px system-ui, sans-serif";
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
  const labels = new Uint16Array(bytes(map.labels));
  const xy = new Uint16Array(bytes(map.xy));
  const grid = map.grid && new Uint16Array(bytes(map.grid.labels));
  const m = labels.length;
  const height = map.equal ? (map.box[3] - map.box[1]) / (map.box[2] - map.box[0]) : 0;
  const base = document.createElement("canvas");
  let area = { left: MARGIN, top: MARGIN, wide: 1, high: 1 }; // the drawing area in pixels

  // Pixels per side of the unit square of the data; the same scale for both axes if the data allows it.
  const scale = () => {
    if (!map.equal) return [area.wide * view.zoom, area.high * view.zoom];
    const wide = Math.min(area.wide, area.high / height) * view.zoom;
    return [wide, wide * height];
  };
  const placeX = (u, s) => area.left + area.wide / 2 + (u - view.x) * s[0];
  const placeY = (v, s) => area.top + area.high / 2 - (v - view.y) * s[1];
  const pointX = (i, s) => placeX(xy[2 * i] / GRID_STEPS, s);
  const pointY = (i, s) => placeY(xy[2 * i + 1] / GRID_STEPS, s);
  const isSeen = (x, y) => x >= area.left && y >= area.top && x <= area.left + area.wide && y <= area.top + area.high;
  // Keep the view within the data.
  const clamp = () => {
    const s = scale(), within = (middle, half) => Math.min(Math.max(middle, Math.min(half, 0.5)), Math.max(1 - half, 0.5));
    view.x = within(view.x, area.wide / 2 / s[0]);
    view.y = within(view.y, area.high / 2 / s[1]);
  };

  const outline = (j) => map.outlines[Math.floor(j / N_COLORS) % map.outlines.length];
  const readColors = () => {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    const clusters = [...Array(N_COLORS).keys()].map((j) => read(`--c${j}`));
    return { clusters, ink: read("--ink"), soft: read("--soft"), rule: read("--rule"), paper: read("--paper") };
  };
  const colorOf = (j, colors) => (j < map.k ? colors.clusters[j % N_COLORS] : colors.soft);

  const regions = (pen, s, colors) => { // one pixel for each prediction, stretched
    const { rows: high, columns: wide } = map.grid;
    const small = document.createElement("canvas"), dot = small.getContext("2d");
    small.width = wide;
    small.height = high;
    for (let i = 0; i < grid.length; i += 1) {
      if (hidden.has(grid[i])) continue;
      dot.fillStyle = colorOf(grid[i], colors);
      dot.fillRect(i % wide, high - 1 - Math.floor(i / wide), 1, 1);
    }
    const a = s[0] / (wide - 1), b = s[1] / (high - 1);
    pen.globalAlpha = 0.16;
    pen.imageSmoothingEnabled = false;
    pen.drawImage(small, placeX(0, s) - a / 2, placeY(1, s) - b / 2, s[0] + a, s[1] + b);
    pen.imageSmoothingEnabled = true;
    pen.globalAlpha = 1;
  };
  const cells = (pen, s, colors) => {
    if (grid) regions(pen, s, colors);
    map.cells.forEach((corners, j) => {
      if (corners.length < 3) return;
      pen.beginPath();
      corners.forEach(([u, v]) => pen.lineTo(placeX(u, s), placeY(v, s)));
      pen.closePath();
      if (!hidden.has(j)) {
        pen.globalAlpha = 0.13;
        pen.fillStyle = colorOf(j, colors);
        pen.fill();
      }
      pen.globalAlpha = 0.7;
      pen.strokeStyle = colors.rule;
      pen.stroke();
      pen.globalAlpha = 1;
    });
  };

  // One small canvas per marker, copied for every row. Shapes need more room than dots.
  const stampMaker = (colors, ratio) => {
    const smallest = map.k > N_COLORS ? 2.2 : 1.3;
    const radius = Math.min(3.6, Math.max(smallest, 95 / Math.sqrt(m))) * Math.min(1.6, Math.sqrt(view.zoom));
    const side = Math.ceil(2.6 * radius * ratio) + 2;
    const stamps = new Map();
    return { side: side / ratio, of: (j) => {
      if (!stamps.has(j)) {
        const stamp = document.createElement("canvas");
        stamp.width = stamp.height = side;
        const pen = stamp.getContext("2d");
        pen.translate(side / 2, side / 2);
        pen.scale(radius * ratio, radius * ratio);
        pen.fillStyle = colorOf(j, colors);
        pen.fill(new Path2D(j < map.k ? outline(j) : map.outlines[0]));
        stamps.set(j, stamp);
      }
      return stamps.get(j);
    } };
  };
  const points = (pen, s, colors, ratio) => {
    const stamp = stampMaker(colors, ratio), half = stamp.side / 2;
    pen.globalAlpha = Math.min(0.9, Math.max(0.4, 40 / Math.sqrt(m)));
    for (let i = 0; i < m; i += 1) {
      if (hidden.has(labels[i])) continue;
      const x = pointX(i, s), y = pointY(i, s);
      if (x < -9 || y < -9 || x > view.wide + 9 || y > view.high + 9) continue;
      pen.drawImage(stamp.of(labels[i]), x - half, y - half, stamp.side, stamp.side);
    }
    pen.globalAlpha = 1;
  };
  const numbers = (pen, s, colors) => {
    pen.font = `600 ${FONT}`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    const taken = [];
    map.centers.forEach(([u, v], j) => {
      if (hidden.has(j)) return;
      const x = placeX(u, s), y = placeY(v, s), wide = pen.measureText(j).width / 2 + 5;
      if (taken.some(([a, b]) => Math.abs(a - x) < 2 * wide && Math.abs(b - y) < 17)) return;
      taken.push([x, y]);
      pen.beginPath();
      pen.roundRect(x - wide, y - 9, 2 * wide, 18, 9);
      pen.fillStyle = colors.paper;
      pen.fill();
      pen.lineWidth = 1.5;
      pen.strokeStyle = colorOf(j, colors);
      pen.stroke();
      pen.lineWidth = 1;
      pen.fillStyle = colors.ink;
      pen.fillText(j, x, y + 0.5);
    });
  };

  // Round values along an axis, at most about `maxCount`.
  const roundValues = (low, high, maxCount) => {
    const span = (high - low) / maxCount, power = 10 ** Math.floor(Math.log10(span));
    const step = [1, 2, 5, 10].map((t) => t * power).find((t) => t >= span);
    const first = Math.ceil(low / step), count = Math.floor(high / step) - first + 1;
    return Array.from({ length: Math.max(0, Math.min(count, 30)) }, (_, i) => Number(((first + i) * step).toPrecision(10)));
  };
  const ticks = (axis, s, maxCount) => { // within the view
    const low = map.box[axis], span = map.box[axis + 2] - low, half = [area.wide, area.high][axis] / 2 / s[axis];
    const middle = [view.x, view.y][axis];
    return roundValues(low + (middle - half) * span, low + (middle + half) * span, maxCount);
  };
  const inBox = (axis, value) => (value - map.box[axis]) / (map.box[axis + 2] - map.box[axis]);
  // Leave room for the numbers at the left, next to the name of their axis.
  const layOut = (pen) => {
    const below = map.ticks ? TICK_MARGIN : MARGIN;
    area = { left: MARGIN, top: MARGIN, wide: Math.max(1, view.wide - 2 * MARGIN), high: Math.max(1, view.high - MARGIN - below) };
    clamp();
    if (!map.ticks || map.flat) return;
    pen.font = FONT;
    const widest = Math.max(0, ...ticks(1, scale(), 5).map((value) => pen.measureText(valueText(value)).width));
    area.left = 32 + Math.min(Math.ceil(widest), view.wide / 4);
    area.wide = Math.max(1, view.wide - area.left - MARGIN);
    clamp();
  };
  const axes = (pen, s, colors) => {
    pen.font = FONT;
    pen.fillStyle = colors.soft;
    pen.textBaseline = "alphabetic";
    pen.textAlign = "center";
    pen.fillText(map.axes[0], view.wide / 2, view.high - 8, view.wide - 90);
    pen.save();
    pen.translate(15, area.top + area.high / 2);
    pen.rotate(-Math.PI / 2);
    pen.fillText(map.axes[1], 0, 0, area.high);
    pen.restore();
    if (!map.ticks) return;
    const bottom = area.top + area.high;
    ticks(0, s, Math.min(6, area.wide / 90)).forEach((value) => pen.fillText(valueText(value), placeX(inBox(0, value), s), bottom + 17));
    if (map.flat) return;
    pen.textAlign = "right";
    ticks(1, s, 5).forEach((value) => pen.fillText(valueText(value), area.left - 7, placeY(inBox(1, value), s) + 4, area.left - 28));
  };

  const ring = (i) => { // copy the painting, and draw a ring around row i
    const pen = canvas.getContext("2d"), ratio = canvas.width / view.wide;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(base, 0, 0);
    if (i < 0) return;
    const s = scale();
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.beginPath();
    pen.arc(pointX(i, s), pointY(i, s), 7, 0, 2 * Math.PI);
    pen.lineWidth = 2;
    pen.strokeStyle = readColors().ink;
    pen.stroke();
  };
  const paint = () => {
    const ratio = Math.min(3, devicePixelRatio || 1);
    view.wide = canvas.clientWidth;
    view.high = canvas.clientHeight;
    if (!view.wide || !view.high) return;
    canvas.width = base.width = Math.round(view.wide * ratio);
    canvas.height = base.height = Math.round(view.high * ratio);
    const pen = base.getContext("2d"), colors = readColors();
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    layOut(pen);
    const s = scale();
    pen.fillStyle = colors.paper;
    pen.fillRect(0, 0, view.wide, view.high);
    pen.save();
    if (map.ticks) { // do not paint over the numbers
      pen.beginPath();
      pen.rect(area.left, area.top - 14, area.wide + 14, area.high + 14);
      pen.clip();
    }
    cells(pen, s, colors);
    points(pen, s, colors, ratio);
    numbers(pen, s, colors);
    pen.restore();
    axes(pen, s, colors);
  };
  return { labels, m, xy, bytes, scale, pointX, pointY, isSeen, clamp, ring, paint, GRID_STEPS };
};
