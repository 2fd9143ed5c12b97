"use strict";
// How the map is painted: data, what the reader looks at, and a canvas; nothing happens here by itself.
const PALETTE = 8;
const grouped = (text) => text.replace(/\d+/, (digits) => digits.replace(/\B(?=(\d{3})+$)/g, "\u202f")).replace("-", "−");

// A value of the data as the tables write it: whole numbers in full, others with up to six digits.
const written = (value) => {
  if (Number.isNaN(value)) return "missing";
  const size = Math.abs(value);
  if (size === Infinity) return value > 0 ? "∞" : "−∞";
  if (size < 1e15 && (Number.isInteger(value) || size >= 1e5)) return grouped((value + 0).toFixed(0));
  if (size >= 1e-4 && size < 1e5) return grouped(String(Number(value.toPrecision(6))));
  return value.toExponential(5).replace(/\.?0+e/, "e").replace(/e([+-])(\d)$/, "e$10$2").replaceAll("-", "−");
};

const painter = (map, canvas, view, hidden) => {
  const STEPS = 65535, AIR = 26, BELOW = 44, FONT = "12px system-ui, sans-serif";
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
  const labels = new Uint16Array(bytes(map.labels));
  const xy = new Uint16Array(bytes(map.xy));
  const grid = map.grid && new Uint16Array(bytes(map.grid.labels));
  const m = labels.length;
  const height = map.equal ? (map.box[3] - map.box[1]) / (map.box[2] - map.box[0]) : 0;
  const base = document.createElement("canvas");
  let area = { left: AIR, top: AIR, wide: 1, high: 1 }; // where rows are drawn

  // From the unit square of the data to pixels; one length for both axes where that is honest.
  const scale = () => {
    if (!map.equal) return [area.wide * view.zoom, area.high * view.zoom];
    const unit = Math.min(area.wide, area.high / height) * view.zoom;
    return [unit, unit * height];
  };
  const placeX = (u, s) => area.left + area.wide / 2 + (u - view.x) * s[0];
  const placeY = (v, s) => area.top + area.high / 2 - (v - view.y) * s[1];
  const pointX = (i, s) => placeX(xy[2 * i] / STEPS, s);
  const pointY = (i, s) => placeY(xy[2 * i + 1] / STEPS, s);
  const isSeen = (x, y) => x >= area.left && y >= area.top && x <= area.left + area.wide && y <= area.top + area.high;
  // What is looked at stays within the data.
  const clamp = () => {
    const s = scale(), within = (at, half) => Math.min(Math.max(at, Math.min(half, 0.5)), Math.max(1 - half, 0.5));
    view.x = within(view.x, area.wide / 2 / s[0]);
    view.y = within(view.y, area.high / 2 / s[1]);
  };

  const mark = (j) => map.marks[Math.floor(j / PALETTE) % map.marks.length];
  const colors = () => {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    const clusters = [...Array(PALETTE).keys()].map((j) => read(`--c${j}`));
    return { clusters, ink: read("--ink"), soft: read("--soft"), rule: read("--rule"), paper: read("--paper") };
  };
  const colorOf = (j, look) => (j < map.k ? look.clusters[j % PALETTE] : look.soft);

  const regions = (pen, s, look) => { // one pixel for each place that was asked for, stretched
    const { rows: high, columns: wide } = map.grid;
    const small = document.createElement("canvas"), dot = small.getContext("2d");
    small.width = wide;
    small.height = high;
    for (let i = 0; i < grid.length; i += 1) {
      if (hidden.has(grid[i])) continue;
      dot.fillStyle = colorOf(grid[i], look);
      dot.fillRect(i % wide, high - 1 - Math.floor(i / wide), 1, 1);
    }
    const a = s[0] / (wide - 1), b = s[1] / (high - 1);
    pen.globalAlpha = 0.16;
    pen.imageSmoothingEnabled = false;
    pen.drawImage(small, placeX(0, s) - a / 2, placeY(1, s) - b / 2, s[0] + a, s[1] + b);
    pen.imageSmoothingEnabled = true;
    pen.globalAlpha = 1;
  };
  const cells = (pen, s, look) => {
    if (grid) regions(pen, s, look);
    map.cells.forEach((corners, j) => {
      if (corners.length < 3) return;
      pen.beginPath();
      corners.forEach(([u, v]) => pen.lineTo(placeX(u, s), placeY(v, s)));
      pen.closePath();
      if (!hidden.has(j)) {
        pen.globalAlpha = 0.13;
        pen.fillStyle = colorOf(j, look);
        pen.fill();
      }
      pen.globalAlpha = 0.7;
      pen.strokeStyle = look.rule;
      pen.stroke();
      pen.globalAlpha = 1;
    });
  };

  // One picture of each mark, made once and stamped for every row. Shapes need more room than dots.
  const stamps = (look, ratio) => {
    const least = map.k > PALETTE ? 2.2 : 1.3;
    const radius = Math.min(3.6, Math.max(least, 95 / Math.sqrt(m))) * Math.min(1.6, Math.sqrt(view.zoom));
    const side = Math.ceil(2.6 * radius * ratio) + 2;
    const made = new Map();
    return { side: side / ratio, of: (j) => {
      if (!made.has(j)) {
        const stamp = document.createElement("canvas");
        stamp.width = stamp.height = side;
        const pen = stamp.getContext("2d");
        pen.translate(side / 2, side / 2);
        pen.scale(radius * ratio, radius * ratio);
        pen.fillStyle = colorOf(j, look);
        pen.fill(new Path2D(j < map.k ? mark(j) : map.marks[0]));
        made.set(j, stamp);
      }
      return made.get(j);
    } };
  };
  const points = (pen, s, look, ratio) => {
    const stamp = stamps(look, ratio), half = stamp.side / 2;
    pen.globalAlpha = Math.min(0.9, Math.max(0.4, 40 / Math.sqrt(m)));
    for (let i = 0; i < m; i += 1) {
      if (hidden.has(labels[i])) continue;
      const x = pointX(i, s), y = pointY(i, s);
      if (x < -9 || y < -9 || x > view.wide + 9 || y > view.high + 9) continue;
      pen.drawImage(stamp.of(labels[i]), x - half, y - half, stamp.side, stamp.side);
    }
    pen.globalAlpha = 1;
  };
  const numbers = (pen, s, look) => {
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
      pen.fillStyle = look.paper;
      pen.fill();
      pen.lineWidth = 1.5;
      pen.strokeStyle = colorOf(j, look);
      pen.stroke();
      pen.lineWidth = 1;
      pen.fillStyle = look.ink;
      pen.fillText(j, x, y + 0.5);
    });
  };

  // Round values along an axis, as many as there is room for.
  const round = (low, high, most) => {
    const span = (high - low) / most, unit = 10 ** Math.floor(Math.log10(span));
    const step = [1, 2, 5, 10].map((t) => t * unit).find((t) => t >= span);
    const first = Math.ceil(low / step), count = Math.floor(high / step) - first + 1;
    return Array.from({ length: Math.max(0, Math.min(count, 30)) }, (_, i) => Number(((first + i) * step).toPrecision(10)));
  };
  const ticks = (axis, s, most) => { // the values that are in view
    const low = map.box[axis], span = map.box[axis + 2] - low, half = [area.wide, area.high][axis] / 2 / s[axis];
    const middle = [view.x, view.y][axis];
    return round(low + (middle - half) * span, low + (middle + half) * span, most);
  };
  const unit = (axis, value) => (value - map.box[axis]) / (map.box[axis + 2] - map.box[axis]);
  // The numbers at the left have the room that they need, beside the name of their axis.
  const layOut = (pen) => {
    const below = map.ticks ? BELOW : AIR;
    area = { left: AIR, top: AIR, wide: Math.max(1, view.wide - 2 * AIR), high: Math.max(1, view.high - AIR - below) };
    clamp();
    if (!map.ticks || map.flat) return;
    pen.font = FONT;
    const widest = Math.max(0, ...ticks(1, scale(), 5).map((value) => pen.measureText(written(value)).width));
    area.left = 32 + Math.min(Math.ceil(widest), view.wide / 4);
    area.wide = Math.max(1, view.wide - area.left - AIR);
    clamp();
  };
  const axes = (pen, s, look) => {
    pen.font = FONT;
    pen.fillStyle = look.soft;
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
    ticks(0, s, Math.min(6, area.wide / 90)).forEach((value) => pen.fillText(written(value), placeX(unit(0, value), s), bottom + 17));
    if (map.flat) return;
    pen.textAlign = "right";
    ticks(1, s, 5).forEach((value) => pen.fillText(written(value), area.left - 7, placeY(unit(1, value), s) + 4, area.left - 28));
  };

  const ring = (i) => { // what was painted, and a ring around a row
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
    pen.strokeStyle = colors().ink;
    pen.stroke();
  };
  const paint = () => {
    const ratio = Math.min(3, devicePixelRatio || 1);
    view.wide = canvas.clientWidth;
    view.high = canvas.clientHeight;
    if (!view.wide || !view.high) return;
    canvas.width = base.width = Math.round(view.wide * ratio);
    canvas.height = base.height = Math.round(view.high * ratio);
    const pen = base.getContext("2d"), look = colors();
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    layOut(pen);
    const s = scale();
    pen.fillStyle = look.paper;
    pen.fillRect(0, 0, view.wide, view.high);
    pen.save();
    if (map.ticks) { // numbers are not painted over
      pen.beginPath();
      pen.rect(area.left, area.top - 14, area.wide + 14, area.high + 14);
      pen.clip();
    }
    cells(pen, s, look);
    points(pen, s, look, ratio);
    numbers(pen, s, look);
    pen.restore();
    axes(pen, s, look);
  };
  return { labels, m, xy, bytes, scale, pointX, pointY, isSeen, clamp, ring, paint, STEPS };
};
