"use strict";
// Mouse, fingers and keys on the map.
const MIN_DRAG_PIXELS = 4, REACH = 14, TAP_REACH = 24; // pixels from the pointer to a row

const mapInput = (canvas, rows, view, { show, hover, zoom, center, placeOf, requestRedraw, current }) => {
  const fingers = new Map();
  let drag = null, pinch = null;
  const gap = () => {
    const [a, b] = [...fingers.values()];
    return { size: Math.max(1, Math.hypot(a[0] - b[0], a[1] - b[1])), x: (a[0] + b[0]) / 2, y: (a[1] + b[1]) / 2 };
  };
  const spread = () => { // two fingers zoom, and move the map
    const now = gap(), s = view.scale();
    view.x -= (now.x - pinch.x) / s[0];
    view.y += (now.y - pinch.y) / s[1];
    zoom(now.size / pinch.size, [now.x, now.y]);
    pinch = now;
  };
  canvas.addEventListener("pointerdown", (event) => {
    fingers.set(event.pointerId, placeOf(event));
    if (fingers.size === 2) { pinch = gap(); drag = null; return; }
    if (fingers.size > 2) return;
    drag = { at: placeOf(event), x: view.x, y: view.y, moved: false };
    hover(event, TAP_REACH);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, placeOf(event));
    if (pinch && fingers.size >= 2) { spread(); return; }
    if (!drag || view.zoom === 1) { hover(event, REACH); return; }
    const s = view.scale(), now = placeOf(event), a = now[0] - drag.at[0], b = now[1] - drag.at[1];
    if (!drag.moved && Math.hypot(a, b) < MIN_DRAG_PIXELS) return;
    if (!drag.moved) canvas.setPointerCapture(event.pointerId);
    drag.moved = true;
    view.x = drag.x - a / s[0];
    view.y = drag.y + b / s[1];
    view.clamp();
    if (current() >= 0) show(-1);
    requestRedraw();
  });
  const lift = (event) => {
    fingers.delete(event.pointerId);
    drag = null;
    if (fingers.size < 2) pinch = null;
  };
  addEventListener("pointerup", lift);
  addEventListener("pointercancel", lift);
  const withTwo = (event) => { if (event.touches.length > 1) event.preventDefault(); }; // the page does not scroll then
  canvas.addEventListener("touchstart", withTwo, { passive: false });
  canvas.addEventListener("touchmove", withTwo, { passive: false });
  canvas.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") show(-1); });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
    event.preventDefault();
    zoom(event.deltaY < 0 ? 1.25 : 0.8, placeOf(event));
  }, { passive: false });
  canvas.addEventListener("dblclick", (event) => zoom(event.shiftKey ? 0.5 : 2, placeOf(event)));
  canvas.addEventListener("blur", () => show(-1));

  const directions = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const step = ([p, q]) => { // show the next row in this direction, and move it into view
    const s = view.scale(), from = current(), at = from < 0 ? [view.x, view.y] : [rows.x[from], rows.y[from]];
    const row = rows.nearest(at, s, (a, b, i) => {
      const along = a * p + b * q, across = Math.abs(a * q) + Math.abs(b * p);
      return i === from || (from >= 0 && (along <= 0 || across > 2 * along)) ? Infinity : a * a + b * b;
    }, Infinity);
    if (row < 0) return;
    if (!view.isSeen(view.placeX(rows.x[row], s), view.placeY(rows.y[row], s))) center(row);
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
};
