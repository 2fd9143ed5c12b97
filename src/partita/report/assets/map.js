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
  const MAX_ZOOM = 60, NARROW = 500, FEW = 6, SHAKE = 4;
  let current = -1, drag = null, asked = 0;
  plane.hidden = false;

  const count = () => {
    let shown = 0;
    for (let i = 0; i < m; i += 1) shown += !hidden.has(labels[i]);
    const whole = m < map.of ? "" : `${grouped(String(m))} rows are shown.`; // of a sample, the note below tells
    find("count").textContent = shown < m ? `${grouped(String(shown))} of ${grouped(String(m))} rows are shown.` : whole;
  };
  const redraw = () => {
    picture.paint();
    picture.ring(current);
    canvas.classList.toggle("zoomed", view.zoom > 1);
  };
  const ask = () => { // once a frame, however many events there are
    if (!asked) asked = requestAnimationFrame(() => { asked = 0; redraw(); });
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
  const describe = (i) => {
    const few = innerWidth < NARROW ? Math.min(FEW, map.names.length) : map.names.length;
    const more = map.more + map.names.length - few;
    tip.replaceChildren();
    add(tip, "b", map.ids ? map.ids[i] : `row ${rows[i]}`);
    add(tip, "span", labels[i] < map.k ? `cluster ${labels[i]}` : "no cluster");
    if (map.ids) add(tip, "span", ` · row ${rows[i]}`);
    const list = add(tip, "dl", "");
    map.names.slice(0, few).forEach((name, t) => {
      add(list, "dt", name);
      add(list, "dd", written(values[i * map.names.length + t]));
    });
    if (more) add(tip, "span", `and ${more} more`);
  };
  const show = (i) => {
    current = i;
    if (!asked) picture.ring(i);
    tip.hidden = i < 0;
    if (i < 0) return;
    describe(i);
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
    picture.clamp();
    show(-1);
    ask();
  };
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.clientX, y: event.clientY, u: view.x, v: view.y, moves: false };
    hover(event, 24);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag || view.zoom === 1) { hover(event, 14); return; }
    const s = scale(), a = event.clientX - drag.x, b = event.clientY - drag.y;
    if (!drag.moves && Math.hypot(a, b) < SHAKE) return;
    if (!drag.moves) canvas.setPointerCapture(event.pointerId);
    drag.moves = true;
    view.x = drag.u - a / s[0];
    view.y = drag.v + b / s[1];
    picture.clamp();
    if (current >= 0) show(-1);
    ask();
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
  const step = ([p, q]) => { // to the next row in this direction, which is brought into view
    const s = scale(), x = current < 0 ? view.wide / 2 : pointX(current, s), y = current < 0 ? view.high / 2 : pointY(current, s);
    const found = nearest(x, y, (a, b, i) => {
      const along = a * p + b * q, across = Math.abs(a * q) + Math.abs(b * p);
      return i === current || (current >= 0 && (along <= 0 || across > 2 * along)) ? Infinity : a * a + b * b;
    }, Infinity);
    if (found < 0) return;
    if (!picture.isSeen(pointX(found, s), pointY(found, s))) {
      view.x = picture.xy[2 * found] / picture.STEPS;
      view.y = picture.xy[2 * found + 1] / picture.STEPS;
      picture.clamp();
      ask();
    }
    show(found);
  };
  canvas.addEventListener("keydown", (event) => {
    if (event.key === "Escape") show(-1);
    else if (event.key === "+" || event.key === "=") zoom(1.5);
    else if (event.key === "-") zoom(1 / 1.5);
    else if (ways[event.key]) {
      event.preventDefault();
      step(ways[event.key]);
    }
  });
  find("in").addEventListener("click", () => zoom(1.5));
  find("out").addEventListener("click", () => zoom(1 / 1.5));
  find("home").addEventListener("click", () => zoom(0));

  const sync = () => {
    entries.forEach((entry) => entry.setAttribute("aria-pressed", String(!hidden.has(Number(entry.dataset.cluster)))));
    all.disabled = hidden.size === 0;
    count();
    show(-1);
    ask();
  };
  entries.forEach((entry) => entry.addEventListener("click", () => {
    const j = Number(entry.dataset.cluster);
    if (!hidden.delete(j)) hidden.add(j);
    sync();
  }));
  all.addEventListener("click", () => { hidden.clear(); sync(); });
  const cue = () => legend.classList.toggle("more", legend.scrollTop + legend.clientHeight < legend.scrollHeight - 4);
  legend.addEventListener("scroll", cue);
  document.addEventListener("repaint", redraw); // at once: paper does not wait for a frame
  new ResizeObserver(() => { cue(); show(-1); ask(); }).observe(canvas);
  sync();
})();
