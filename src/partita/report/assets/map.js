"use strict";
(() => {
  const find = (id) => document.getElementById(id);
  const root = document.documentElement;
  if (!find("data")) return;
  const map = JSON.parse(find("data").textContent);
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
  const labels = new Uint16Array(bytes(map.labels));
  const xy = new Uint16Array(bytes(map.xy));
  const rows = new Uint32Array(bytes(map.rows));
  const values = new Float64Array(bytes(map.values));
  const grid = map.grid && new Uint16Array(bytes(map.grid.labels));
  const m = labels.length, STEPS = 65535, PALETTE = 8, MAX_ZOOM = 60;
  const height = map.equal ? (map.box[3] - map.box[1]) / (map.box[2] - map.box[0]) : 0;
  const plane = find("plane"), canvas = find("canvas"), tip = find("tip"), all = find("all");
  const entries = [...plane.querySelectorAll(".entry")];
  const hidden = new Set();
  const view = { zoom: 1, x: 0.5, y: 0.5, wide: 0, high: 0 };
  const base = document.createElement("canvas");
  let current = -1, drag = null;
  plane.hidden = false;

  // From the unit square of the data to pixels; one length for both axes where that is honest.
  const scale = () => {
    const air = map.ticks ? 44 : 26;
    const wide = view.wide - 2 * air, high = view.high - 2 * air;
    if (!map.equal) return [wide * view.zoom, high * view.zoom];
    const unit = Math.min(wide, high / height) * view.zoom;
    return [unit, unit * height];
  };
  const placeX = (u, s) => view.wide / 2 + (u - view.x) * s[0];
  const placeY = (v, s) => view.high / 2 - (v - view.y) * s[1];
  const pointX = (i, s) => placeX(xy[2 * i] / STEPS, s);
  const pointY = (i, s) => placeY(xy[2 * i + 1] / STEPS, s);

  const mark = (j) => map.marks[Math.floor(j / PALETTE) % map.marks.length];
  const colors = () => {
    const style = getComputedStyle(root);
    const read = (name) => style.getPropertyValue(name).trim();
    const clusters = [...Array(PALETTE).keys()].map((j) => read(`--c${j}`));
    return { clusters, ink: read("--ink"), soft: read("--soft"), rule: read("--rule"), paper: read("--paper") };
  };
  const colorOf = (j, look) => (j < map.k ? look.clusters[j % PALETTE] : look.soft);

  const cells = (pen, s, look) => {
    if (grid) { // one pixel for each place that was asked for, stretched
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
    }
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

  // One picture of each mark, made once and stamped for every row.
  const stamps = (look, ratio) => {
    const radius = Math.min(3.6, Math.max(1.3, 95 / Math.sqrt(m))) * Math.min(1.6, Math.sqrt(view.zoom));
    const side = Math.ceil(2.6 * radius * ratio) + 2;
    const made = new Map();
    return { side: side / ratio, radius, of: (j) => {
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
    let count = 0;
    for (let i = 0; i < m; i += 1) {
      if (hidden.has(labels[i])) continue;
      count += 1;
      const x = pointX(i, s), y = pointY(i, s);
      if (x < -9 || y < -9 || x > view.wide + 9 || y > view.high + 9) continue;
      pen.drawImage(stamp.of(labels[i]), x - half, y - half, stamp.side, stamp.side);
    }
    pen.globalAlpha = 1;
    const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");
    find("count").textContent = count < m ? `${grouped(count)} of ${grouped(m)} rows are shown.` : `${grouped(m)} rows are shown.`;
  };

  const numbers = (pen, s, look) => {
    pen.font = "600 12px system-ui, sans-serif";
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

  const written = (value) => {
    if (Number.isNaN(value)) return "missing";
    return (Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)))).replace("-", "−");
  };
  // Round values along an axis, as many as there is room for.
  const round = (low, high, most) => {
    const span = (high - low) / most, unit = 10 ** Math.floor(Math.log10(span));
    const step = [1, 2, 5, 10].map((t) => t * unit).find((t) => t >= span);
    const first = Math.ceil(low / step), count = Math.floor(high / step) - first + 1;
    return Array.from({ length: Math.min(count, 30) }, (_, i) => Number(((first + i) * step).toPrecision(10)));
  };
  const axes = (pen, s, look) => {
    pen.font = "12px system-ui, sans-serif";
    pen.fillStyle = look.soft;
    pen.textBaseline = "alphabetic";
    pen.textAlign = "center";
    const [left, low, right, high] = map.box;
    pen.fillText(map.axes[0], view.wide / 2, view.high - 8, view.wide - 90);
    pen.save();
    pen.translate(15, view.high / 2);
    pen.rotate(-Math.PI / 2);
    pen.fillText(map.axes[1], 0, 0, view.high - 20);
    pen.restore();
    if (!map.ticks) return;
    const from = (at, size, middle) => middle + at / size;
    const ends = [-view.wide / 2 + 44, view.wide / 2 - 44].map((at) => left + from(at, s[0], view.x) * (right - left));
    round(ends[0], ends[1], 6).forEach((value) => {
      pen.fillText(written(value), placeX((value - left) / (right - left), s), view.high - 25);
    });
    if (map.flat) return;
    pen.textAlign = "right";
    const tops = [-view.high / 2 + 44, view.high / 2 - 30].map((at) => low + from(at, s[1], view.y) * (high - low));
    round(tops[0], tops[1], 5).forEach((value) => {
      pen.fillText(written(value), 58, placeY((value - low) / (high - low), s) + 4);
    });
  };

  const ring = () => {
    const pen = canvas.getContext("2d"), ratio = canvas.width / view.wide;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(base, 0, 0);
    if (current < 0) return;
    const s = scale();
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.beginPath();
    pen.arc(pointX(current, s), pointY(current, s), 7, 0, 2 * Math.PI);
    pen.lineWidth = 2;
    pen.strokeStyle = colors().ink;
    pen.stroke();
  };

  const redraw = () => {
    const ratio = Math.min(3, devicePixelRatio || 1);
    view.wide = canvas.clientWidth;
    view.high = canvas.clientHeight;
    if (!view.wide || !view.high) return;
    canvas.width = base.width = Math.round(view.wide * ratio);
    canvas.height = base.height = Math.round(view.high * ratio);
    const pen = base.getContext("2d"), s = scale(), look = colors();
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = look.paper;
    pen.fillRect(0, 0, view.wide, view.high);
    cells(pen, s, look);
    points(pen, s, look, ratio);
    numbers(pen, s, look);
    axes(pen, s, look);
    ring();
  };

  // --- which row ----------------------------------------------------------------------------------
  const nearest = (x, y, cost, most) => {
    const s = scale();
    let best = -1, least = most;
    for (let i = 0; i < m; i += 1) {
      if (hidden.has(labels[i])) continue;
      const far = cost(pointX(i, s) - x, pointY(i, s) - y, i);
      if (far < least) { least = far; best = i; }
    }
    return best;
  };
  const add = (parent, name, text) => {
    const made = parent.appendChild(document.createElement(name));
    made.textContent = text; // never markup: it comes from the data
    return made;
  };
  const show = (i) => {
    current = i;
    ring();
    tip.hidden = i < 0;
    if (i < 0) return;
    tip.replaceChildren();
    add(tip, "b", map.ids ? map.ids[i] : `row ${rows[i]}`);
    add(tip, "span", labels[i] < map.k ? `cluster ${labels[i]}` : "no cluster");
    if (map.ids) add(tip, "span", ` · row ${rows[i]}`);
    const list = add(tip, "dl", "");
    map.names.forEach((name, t) => {
      add(list, "dt", name);
      add(list, "dd", written(values[i * map.names.length + t]));
    });
    if (map.more) add(tip, "span", `and ${map.more} more`);
    const s = scale(), x = pointX(i, s), y = pointY(i, s);
    const left = x + 16 + tip.offsetWidth > view.wide ? x - 16 - tip.offsetWidth : x + 16;
    const room = Math.max(4, view.wide - tip.offsetWidth - 4);
    tip.style.left = `${Math.min(room, Math.max(4, left))}px`;
    tip.style.top = `${Math.max(4, Math.min(y - 20, view.high - tip.offsetHeight - 4))}px`;
  };
  const hover = (event, reach) => {
    const box = canvas.getBoundingClientRect();
    const found = nearest(event.clientX - box.left, event.clientY - box.top, (a, b) => a * a + b * b, reach * reach);
    if (found !== current) show(found);
  };

  // --- what the reader does -----------------------------------------------------------------------
  const zoom = (factor) => {
    view.zoom = Math.min(MAX_ZOOM, Math.max(1, view.zoom * factor));
    if (view.zoom === 1) { view.x = 0.5; view.y = 0.5; }
    show(-1);
    redraw();
  };
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.clientX, y: event.clientY, u: view.x, v: view.y, moved: false };
    hover(event, 24);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag || view.zoom === 1) { hover(event, 14); return; }
    const s = scale(), a = event.clientX - drag.x, b = event.clientY - drag.y;
    view.x = drag.u - a / s[0];
    view.y = drag.v + b / s[1];
    show(-1);
    redraw();
  });
  addEventListener("pointerup", () => { drag = null; });
  addEventListener("pointercancel", () => { drag = null; });
  canvas.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") show(-1); });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
    event.preventDefault();
    zoom(event.deltaY < 0 ? 1.25 : 0.8);
  }, { passive: false });
  canvas.addEventListener("blur", () => show(-1));
  const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  canvas.addEventListener("keydown", (event) => {
    if (event.key === "Escape") show(-1);
    else if (event.key === "+" || event.key === "=") zoom(1.5);
    else if (event.key === "-") zoom(1 / 1.5);
    else if (ways[event.key]) {
      event.preventDefault();
      const [p, q] = ways[event.key], s = scale();
      const x = current < 0 ? view.wide / 2 : pointX(current, s), y = current < 0 ? view.high / 2 : pointY(current, s);
      const found = nearest(x, y, (a, b, i) => {
        const along = a * p + b * q, across = Math.abs(a * q) + Math.abs(b * p);
        return i === current || (current >= 0 && (along <= 0 || across > 2 * along)) ? Infinity : a * a + b * b;
      }, Infinity);
      if (found >= 0) show(found);
    }
  });
  find("in").addEventListener("click", () => zoom(1.5));
  find("out").addEventListener("click", () => zoom(1 / 1.5));
  find("home").addEventListener("click", () => zoom(0));
  const sync = () => {
    entries.forEach((entry) => entry.setAttribute("aria-pressed", String(!hidden.has(Number(entry.dataset.cluster)))));
    all.hidden = hidden.size === 0;
    show(-1);
    redraw();
  };
  entries.forEach((entry) => entry.addEventListener("click", () => {
    const j = Number(entry.dataset.cluster);
    if (!hidden.delete(j)) hidden.add(j);
    sync();
  }));
  all.addEventListener("click", () => { hidden.clear(); sync(); });
  document.addEventListener("repaint", redraw);
  new ResizeObserver(() => { show(-1); redraw(); }).observe(canvas);
})();
