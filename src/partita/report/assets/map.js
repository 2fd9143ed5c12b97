"use strict";
(() => {
  const find = (id) => document.getElementById(id);
  if (!find("data")) return;
  const map = JSON.parse(find("data").textContent);
  const plane = find("plane"), canvas = find("canvas"), tip = find("tip"), all = find("all");
  const legend = plane.querySelector(".legend"), entries = [...plane.querySelectorAll(".entry")];
  const hidden = new Set();
  const view = { zoom: 1, x: 0.5, y: 0.5, wide: 0, high: 0 };
  const picture = painter(map, canvas, view, hidden);
  const { labels, m, scale, pointX, pointY } = picture;
  const rows = new Uint32Array(picture.bytes(map.rows)), values = new Float64Array(picture.bytes(map.values));
  const MAX_ZOOM = 60, NARROW_PIXELS = 500, NARROW_FEATURES = 6, MIN_DRAG_PIXELS = 4, TIP_GAP = 16;
  let current = -1, drag = null, frame = 0;
  plane.hidden = false;

  const count = () => {
    let shown = 0;
    for (let i = 0; i < m; i += 1) shown += !hidden.has(labels[i]);
    const whole = m < map.total ? "" : `${grouped(String(m))} rows are shown.`; // the note below counts a sample
    find("count").textContent = shown < m ? `${grouped(String(shown))} of ${grouped(String(m))} rows are shown.` : whole;
  };
  const redraw = () => {
    picture.paint();
    picture.ring(current);
    canvas.classList.toggle("zoomed", view.zoom > 1);
  };
  const requestRedraw = () => { // at most once a frame
    if (!frame) frame = requestAnimationFrame(() => { frame = 0; redraw(); });
  };

  // --- rows ----------------------------------------------------------------------------------
  const nearest = (x, y, cost, maxCost) => {
    const s = scale();
    let best = -1, lowest = maxCost;
    for (let i = 0; i < m; i += 1) {
      if (hidden.has(labels[i])) continue;
      const price = cost(pointX(i, s) - x, pointY(i, s) - y, i);
      if (price < lowest) { lowest = price; best = i; }
    }
    return best;
  };
  const add = (parent, name, text) => {
    const child = parent.appendChild(document.createElement(name));
    child.textContent = text; // never markup: it comes from the data
    return child;
  };
  const describe = (i) => {
    const shown = innerWidth < NARROW_PIXELS ? Math.min(NARROW_FEATURES, map.names.length) : map.names.length;
    const more = map.more + map.names.length - shown;
    tip.replaceChildren();
    add(tip, "b", map.ids ? map.ids[i] : `row ${rows[i]}`);
    add(tip, "span", labels[i] < map.k ? `cluster ${labels[i]}` : "no cluster");
    if (map.ids) add(tip, "span", ` · row ${rows[i]}`);
    const list = add(tip, "dl", "");
    map.names.slice(0, shown).forEach((name, t) => {
      add(list, "dt", name);
      add(list, "dd", valueText(values[i * map.names.length + t]));
    });
    if (more) add(tip, "span", `and ${more} more`);
  };
  const show = (i) => {
    current = i;
    if (!frame) picture.ring(i);
    tip.hidden = i < 0;
    if (i < 0) return;
    describe(i);
    const s = scale(), x = pointX(i, s), y = pointY(i, s);
    const left = x + TIP_GAP + tip.offsetWidth > view.wide ? x - TIP_GAP - tip.offsetWidth : x + TIP_GAP;
    const room = Math.max(4, view.wide - tip.offsetWidth - 4);
    tip.style.left = `${Math.min(room, Math.max(4, left))}px`;
    tip.style.top = `${Math.max(4, Math.min(y - 20, view.high - tip.offsetHeight - 4))}px`;
  };
  const hover = (event, reach) => {
    const box = canvas.getBoundingClientRect();
    const row = nearest(event.clientX - box.left, event.clientY - box.top, (a, b) => a * a + b * b, reach * reach);
    if (row !== current) show(row);
  };

  // --- events -----------------------------------------------------------------------
  const zoom = (factor) => {
    view.zoom = Math.min(MAX_ZOOM, Math.max(1, view.zoom * factor));
    picture.clamp();
    show(-1);
    requestRedraw();
  };
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.clientX, y: event.clientY, u: view.x, v: view.y, moved: false };
    hover(event, 24);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag || view.zoom === 1) { hover(event, 14); return; }
    const s = scale(), a = event.clientX - drag.x, b = event.clientY - drag.y;
    if (!drag.moved && Math.hypot(a, b) < MIN_DRAG_PIXELS) return;
    if (!drag.moved) canvas.setPointerCapture(event.pointerId);
    drag.moved = true;
    view.x = drag.u - a / s[0];
    view.y = drag.v + b / s[1];
    picture.clamp();
    if (current >= 0) show(-1);
    requestRedraw();
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

  const directions = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const step = ([p, q]) => { // show the next row in this direction, and move it into view
    const s = scale(), x = current < 0 ? view.wide / 2 : pointX(current, s), y = current < 0 ? view.high / 2 : pointY(current, s);
    const row = nearest(x, y, (a, b, i) => {
      const along = a * p + b * q, across = Math.abs(a * q) + Math.abs(b * p);
      return i === current || (current >= 0 && (along <= 0 || across > 2 * along)) ? Infinity : a * a + b * b;
    }, Infinity);
    if (row < 0) return;
    if (!picture.isSeen(pointX(row, s), pointY(row, s))) {
      view.x = picture.xy[2 * row] / picture.GRID_STEPS;
      view.y = picture.xy[2 * row + 1] / picture.GRID_STEPS;
      picture.clamp();
      requestRedraw();
    }
    show(row);
  };
  canvas.addEventListener("keydown", (event) => {
    if (event.key === "Escape") show(-1);
    else if (event.key === "+" || event.key === "=") zoom(1.5);
    else if (event.key === "-") zoom(1 / 1.5);
    else if (directions[event.key]) {
      event.preventDefault();
      step(directions[event.key]);
    }
  });
  find("in").addEventListener("click", () => zoom(1.5));
  find("out").addEventListener("click", () => zoom(1 / 1.5));
  find("home").addEventListener("click", () => zoom(0));

  const updateLegend = () => {
    entries.forEach((entry) => entry.setAttribute("aria-pressed", String(!hidden.has(Number(entry.dataset.cluster)))));
    all.disabled = hidden.size === 0;
    count();
    show(-1);
    requestRedraw();
  };
  entries.forEach((entry) => entry.addEventListener("click", () => {
    const j = Number(entry.dataset.cluster);
    if (!hidden.delete(j)) hidden.add(j);
    updateLegend();
  }));
  all.addEventListener("click", () => { hidden.clear(); updateLegend(); });
  const markOverflow = () => legend.classList.toggle("more", legend.scrollTop + legend.clientHeight < legend.scrollHeight - 4);
  legend.addEventListener("scroll", markOverflow);
  document.addEventListener("repaint", redraw); // at once: printing does not wait for a frame
  new ResizeObserver(() => { markOverflow(); show(-1); requestRedraw(); }).observe(canvas);
  updateLegend();
})();
