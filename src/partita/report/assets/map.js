"use strict";
(() => {
  const find = (id) => document.getElementById(id);
  if (!find("data")) return;
  const map = JSON.parse(find("data").textContent);
  if (map.ids) map.ids = map.ids.map((rest) => map.id_prefix + rest); // what all ids begin with is stored once
  const plane = find("plane"), canvas = find("canvas"), tip = find("tip"), all = find("all");
  const legend = plane.querySelector(".legend"), entries = [...legend.querySelectorAll(".entry")], onlys = [...legend.querySelectorAll(".only")];
  const NARROW_PIXELS = 500, NARROW_FEATURES = 6, TIP_GAP = 16, FOUND_ZOOM = 4;
  const given = find("names") ? JSON.parse(find("names").textContent) : [];
  if (!given.length) entries.forEach((entry) => { given[entry.dataset.cluster] = entry.querySelector("bdi").textContent; });
  const state = { hidden: new Set(), highlight: -1, names: given };
  const rows = mapRows(map), view = mapView(map, rows), picture = painter(map, rows, view, state), base = document.createElement("canvas");
  const basePen = base.getContext("2d", { willReadFrequently: true });
  let current = -1, frame = 0, painted = -1, found = { text: "", matches: [], at: -1 };
  plane.hidden = false;

  // --- painting ----------------------------------------------------------------------
  const ring = () => { // copy the painting, and draw a ring around the current row
    const pen = canvas.getContext("2d"), ratio = canvas.width / view.wide;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    if (!base.width) return;
    pen.drawImage(base, 0, 0);
    if (current < 0) return;
    const s = view.scale();
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.beginPath();
    pen.arc(view.placeX(rows.x[current], s), view.placeY(rows.y[current], s), 7, 0, 2 * Math.PI);
    pen.lineWidth = 2;
    pen.strokeStyle = readColors().ink;
    pen.stroke();
  };
  const tellCrowded = ({ crowded, outside }) => {
    const many = (n, text) => (n === 1 ? `1 group number ${text[0]}` : `${n} group numbers ${text[1]}`);
    const parts = [];
    if (crowded) parts.push(`${many(crowded, ["has", "have"])} no room here: zoom in.`);
    if (outside && view.zoom === 1) parts.push(`${many(outside, ["lies", "lie"])} outside this view.`);
    find("crowded").textContent = parts.join(" ");
  };
  const redraw = () => {
    const ratio = Math.min(3, devicePixelRatio || 1), width = canvas.clientWidth, height = canvas.clientHeight;
    if (!width || !height) return;
    basePen.setTransform(1, 0, 0, 1, 0, 0);
    basePen.font = MAP_FONT;
    view.layOut(width, height, (text) => basePen.measureText(text).width);
    canvas.width = base.width = Math.round(width * ratio);
    canvas.height = base.height = Math.round(height * ratio);
    basePen.setTransform(ratio, 0, 0, ratio, 0, 0);
    tellCrowded(picture.paint(basePen, readColors(), ratio));
    painted = state.highlight;
    ring();
    canvas.classList.toggle("zoomed", view.zoom > 1);
  };
  const requestRedraw = () => { // at most once a frame
    if (!frame) frame = requestAnimationFrame(() => { frame = 0; redraw(); });
  };

  // --- rows --------------------------------------------------------------------------
  const add = (parent, name, text) => {
    const child = parent.appendChild(document.createElement(name));
    child.textContent = text; // never markup: it comes from the data
    return child;
  };
  const groupText = (j) => {
    if (j >= map.k) return "no group";
    const name = properName(state.names, j);
    return name ? `group ${j}: ${name}` : `group ${j}`;
  };
  const describe = (i) => {
    const shown = innerWidth < NARROW_PIXELS ? Math.min(NARROW_FEATURES, map.names.length) : map.names.length;
    const more = map.more + map.names.length - shown;
    tip.replaceChildren();
    add(tip, "b", map.ids ? map.ids[i] : `row ${rows.numbers[i]}`);
    add(tip, "span", groupText(rows.labels[i]));
    if (map.ids) add(tip, "span", ` · row ${rows.numbers[i]}`);
    const list = add(tip, "dl", "");
    map.names.slice(0, shown).forEach((name, t) => {
      add(list, "dt", name);
      add(list, "dd", (map.days[t] ? dayText : valueText)(rows.columns[t][i]));
    });
    if (more) add(tip, "span", `and ${more} more`);
  };
  const show = (i) => {
    current = i;
    if (!frame) ring();
    tip.hidden = i < 0;
    markGroup(i < 0 || rows.labels[i] >= map.k ? -1 : rows.labels[i]);
    if (i < 0) return;
    describe(i);
    const s = view.scale(), x = view.placeX(rows.x[i], s), y = view.placeY(rows.y[i], s);
    const left = x + TIP_GAP + tip.offsetWidth > view.wide ? x - TIP_GAP - tip.offsetWidth : x + TIP_GAP;
    const room = Math.max(4, view.wide - tip.offsetWidth - 4);
    tip.style.left = `${Math.min(room, Math.max(4, left))}px`;
    tip.style.top = `${Math.max(4, Math.min(y - 20, view.high - tip.offsetHeight - 4))}px`;
  };
  const placeOf = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left - canvas.clientLeft, event.clientY - box.top - canvas.clientTop];
  };
  const hover = (event, reach) => {
    const s = view.scale(), at = view.positionAt(...placeOf(event), s);
    const row = rows.nearest(at, s, (a, b) => a * a + b * b, reach * reach);
    if (row !== current) show(row);
  };
  const center = (i) => {
    view.x = rows.x[i];
    view.y = rows.y[i];
    view.clamp();
    requestRedraw();
  };

  // --- mouse, fingers and keys -------------------------------------------------------
  const zoom = (factor, at = [view.area.left + view.area.wide / 2, view.area.top + view.area.high / 2]) => {
    view.zoomAt(factor, ...at);
    show(-1);
    requestRedraw();
  };
  mapInput(canvas, rows, view, { show, hover, zoom, center, placeOf, requestRedraw, current: () => current });
  find("in").addEventListener("click", () => zoom(1.5));
  find("out").addEventListener("click", () => zoom(1 / 1.5));
  find("home").addEventListener("click", () => { view.reset(); zoom(0); });

  // --- what is shown -----------------------------------------------------------------
  const count = (shown) => {
    const told = (n) => grouped(String(n)), rowsText = (n, one, more) => (n === 1 ? `1 row ${one}` : `${told(n)} rows ${more}`);
    const parts = [], outside = view.countOutside();
    if (shown < rows.m) parts.push(`${told(shown)} of ${told(rows.m)} rows are shown.`);
    else if (rows.m >= map.total) parts.push(`${told(rows.m)} rows are shown.`); // the note below counts a sample
    if (outside) parts.push(rowsText(outside, "lies outside this view, far from the others.", "lie outside this view, far from the others."));
    if (rows.missing) parts.push(rowsText(rows.missing, "has no value along these axes.", "have no value along these axes."));
    find("count").textContent = parts.join(" ");
  };
  const update = () => {
    const shown = rows.update(state.hidden), seen = rows.bySize.filter((j) => !state.hidden.has(j));
    entries.forEach((entry) => entry.setAttribute("aria-pressed", String(!state.hidden.has(Number(entry.dataset.cluster)))));
    onlys.forEach((button) => button.setAttribute("aria-pressed", String(state.hidden.size > 0 && seen.length === 1 && seen[0] === Number(button.dataset.only))));
    all.disabled = state.hidden.size === 0;
    count(shown);
    show(-1);
    requestRedraw();
  };
  entries.forEach((entry) => entry.addEventListener("click", () => {
    const j = Number(entry.dataset.cluster);
    if (!state.hidden.delete(j)) state.hidden.add(j);
    update();
  }));
  onlys.forEach((button) => button.addEventListener("click", () => {
    const wasOn = button.getAttribute("aria-pressed") === "true";
    state.hidden = new Set(wasOn ? [] : rows.labels.filter((j) => j !== Number(button.dataset.only)));
    update();
  }));
  all.addEventListener("click", () => { state.hidden.clear(); update(); });
  const setNear = (isNear) => {
    view.isNear = isNear;
    find("near").checked = isNear;
    view.reset();
  };
  const startPlane = () => {
    find("far").hidden = !view.hasFar();
    setNear(!view.hasFar() || view.isSqueezed());
    find("plane-note").hidden = !rows.isFirstPlane();
    update();
  };
  find("near").addEventListener("change", () => { setNear(find("near").checked); update(); });
  const selects = ["axis-x", "axis-y"].map(find);
  if (selects[0]) selects.forEach((select) => select.addEventListener("change", () => {
    rows.choose(...selects.map((one) => Number(one.value)));
    startPlane();
  }));

  // --- finding a row -----------------------------------------------------------------
  const reveal = (i) => {
    if (Number.isNaN(rows.x[i] + rows.y[i])) return "It has no value along these axes.";
    if (state.hidden.delete(rows.labels[i])) update();
    const [[left, right], [low, high]] = view.frame();
    if (!(rows.x[i] >= left && rows.x[i] <= right && rows.y[i] >= low && rows.y[i] <= high)) { setNear(false); update(); }
    view.zoom = Math.max(view.zoom, FOUND_ZOOM);
    center(i);
    show(i);
    return "";
  };
  const search = () => {
    const text = find("find").value;
    if (text !== found.text) found = { text, at: -1, ...findRows(map, rows, text) };
    if (!found.matches.length) { show(-1); find("found").textContent = found.message; return; }
    found.at = (found.at + 1) % found.matches.length;
    const remark = reveal(found.matches[found.at]), n = found.matches.length;
    const name = map.ids ? map.ids[found.matches[found.at]] : `row ${rows.numbers[found.matches[found.at]]}`;
    const which = n > 1 ? `${name}: ${found.at + 1} of ${grouped(String(n))} that match. Press Enter for the next.` : `${name} is ringed.`;
    find("found").textContent = remark ? `${name}: ${remark}` : which;
  };
  find("find").addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); search(); } });
  find("find-next").addEventListener("click", search);

  // --- pictures ----------------------------------------------------------------------
  plane.querySelectorAll("[data-save]").forEach((button) => button.addEventListener("click", () => savePicture(picture, rows, view, state, button.dataset.save)));

  // --- the rest of the page ----------------------------------------------------------
  const isOnScreen = () => { const { top, bottom } = canvas.getBoundingClientRect(); return bottom > 0 && top < innerHeight; };
  document.addEventListener("highlight", ({ detail: j }) => {
    state.highlight = rows.sizes[j] ? j : -1;
    if (state.highlight !== painted && (state.highlight < 0 || isOnScreen())) requestRedraw();
  });
  document.addEventListener("names", ({ detail }) => { state.names = detail; requestRedraw(); });
  const markOverflow = () => legend.classList.toggle("more", legend.scrollTop + legend.clientHeight < legend.scrollHeight - 4);
  legend.addEventListener("scroll", markOverflow);
  document.addEventListener("repaint", redraw); // at once: printing does not wait for a frame
  new ResizeObserver(() => { markOverflow(); show(-1); requestRedraw(); }).observe(canvas);
  startPlane();
})();
