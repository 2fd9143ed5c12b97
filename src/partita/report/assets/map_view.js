"use strict";
// The part of the plane that is shown: positions of rows become pixels of a picture.
const PANEL_ASPECT = 1.5, MAX_STRETCH = 2; // the same rule as `with_equal_scale`
const MARGIN = 26, TICK_MARGIN = 44, MAX_ZOOM = 60; // margins in pixels

const mapView = (map, rows) => {
  const view = { zoom: 1, x: 0.5, y: 0.5, wide: 0, high: 0, area: { left: MARGIN, top: MARGIN, wide: 1, high: 1 } };
  const axis = (t) => map.axes[rows.axes[t]];
  view.axis = axis;
  view.isNear = true; // whether far rows are left out
  view.hasFar = () => [0, 1].some((t) => axis(t).whole[0] < 0 || axis(t).whole[1] > 1);
  view.isSqueezed = () => [0, 1].some((t) => axis(t).squeezed);
  view.frame = () => (view.isNear ? [[0, 1], [0, 1]] : [axis(0).whole, axis(1).whole]);
  const lengths = () => view.frame().map(([low, high], t) => (high - low) * axis(t).length);
  const isEqual = () => {
    if (!axis(0).length || !axis(1).length) return false;
    const [wide, high] = lengths(), ratio = wide / high / PANEL_ASPECT;
    return ratio >= 1 / MAX_STRETCH && ratio <= MAX_STRETCH;
  };
  // Pixels per unit of position; the same scale for both axes if the data allows it.
  view.scale = () => {
    const frame = view.frame(), { wide, high } = view.area, spans = frame.map(([low, top]) => top - low);
    if (!isEqual()) return [wide / spans[0] * view.zoom, high / spans[1] * view.zoom];
    const size = lengths(), pixels = Math.min(wide / size[0], high / size[1]) * view.zoom;
    return [pixels * axis(0).length, pixels * axis(1).length];
  };
  view.placeX = (u, s) => view.area.left + view.area.wide / 2 + (u - view.x) * s[0];
  view.placeY = (v, s) => view.area.top + view.area.high / 2 - (v - view.y) * s[1];
  view.positionAt = (x, y, s) => [
    view.x + (x - view.area.left - view.area.wide / 2) / s[0],
    view.y - (y - view.area.top - view.area.high / 2) / s[1],
  ];
  view.isSeen = (x, y) => {
    const { left, top, wide, high } = view.area;
    return x >= left && y >= top && x <= left + wide && y <= top + high;
  };
  view.clamp = () => { // keep the middle of the view on the rows, and its edges on what is shown without zoom
    const s = view.scale(), halves = [view.area.wide / 2 / s[0], view.area.high / 2 / s[1]];
    const within = (value, t) => {
      const [low, high] = view.frame()[t], middle = (low + high) / 2, reach = Math.max((high - low) / 2, halves[t] * view.zoom);
      const first = Math.max(low, middle - reach + halves[t]), last = Math.min(high, middle + reach - halves[t]);
      return first < last ? Math.min(Math.max(value, first), last) : middle;
    };
    view.x = within(view.x, 0);
    view.y = within(view.y, 1);
  };
  view.zoomAt = (factor, x, y) => { // the place (x, y) stays where it is
    const before = view.positionAt(x, y, view.scale());
    view.zoom = Math.min(MAX_ZOOM, Math.max(1, view.zoom * factor));
    const after = view.positionAt(x, y, view.scale());
    view.x += before[0] - after[0];
    view.y += before[1] - after[1];
    view.clamp();
  };
  view.reset = () => {
    const frame = view.frame();
    Object.assign(view, { zoom: 1, x: (frame[0][0] + frame[0][1]) / 2, y: (frame[1][0] + frame[1][1]) / 2 });
  };
  view.countOutside = () => { // visible rows beyond the frame
    const [[left, right], [low, high]] = view.frame();
    let outside = 0;
    for (let i = 0; i < rows.m; i += 1) {
      outside += rows.visible[i] && !(rows.x[i] >= left && rows.x[i] <= right && rows.y[i] >= low && rows.y[i] <= high);
    }
    return outside;
  };

  // Round values along an axis within the view, at most about `maxCount`.
  const roundValues = (low, high, maxCount) => {
    const span = (high - low) / maxCount, power = 10 ** Math.floor(Math.log10(span));
    const step = [1, 2, 5, 10].map((t) => t * power).find((t) => t >= span);
    const first = Math.ceil(low / step), count = Math.floor(high / step) - first + 1;
    return Array.from({ length: Math.max(0, Math.min(count, 30)) || 0 }, (_, i) => Number(((first + i) * step).toPrecision(10)));
  };
  view.ticks = (t, s, maxCount) => {
    const box = axis(t).box;
    if (!box || !Number.isFinite(box[1] - box[0])) return [];
    const half = [view.area.wide, view.area.high][t] / 2 / s[t], middle = [view.x, view.y][t], span = box[1] - box[0];
    const position = (value) => (value - box[0]) / span;
    return roundValues(box[0] + (middle - half) * span, box[0] + (middle + half) * span, maxCount)
      .map((value) => ({ text: (axis(t).is_day ? dayText : valueText)(value), position: position(value) }));
  };
  // Leave room for the numbers at the left, next to the name of their axis.
  view.layOut = (width, height, measure) => {
    view.wide = width;
    view.high = height;
    const below = axis(0).box ? TICK_MARGIN : MARGIN + 4;
    view.area = { left: MARGIN + 2, top: 16, wide: Math.max(1, width - MARGIN - 18), high: Math.max(1, height - 16 - below) };
    view.clamp();
    const widest = Math.max(0, ...view.ticks(1, view.scale(), 5).map(({ text }) => measure(text)));
    if (!widest) return;
    view.area.left = 32 + Math.min(Math.ceil(widest), width / 4);
    view.area.wide = Math.max(1, width - view.area.left - 18);
    view.clamp();
  };
  return view;
};
