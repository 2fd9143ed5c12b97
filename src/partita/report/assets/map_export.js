"use strict";
// Saving of pictures: a pen that writes SVG, and files made in the page.
const LEGEND_ROW = 22, LEGEND_COLUMN = 260, LEGEND_MARGIN = 20, MAX_LEGEND_ROWS = 60; // of a saved picture: three in pixels, and groups
const escapeXml = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "");
const short = (x) => String(Math.round(x * 10) / 10);

// The corners of a marker that is made of straight lines, from its outline: "M-1-.5H1V.5Z".
const cornersOf = (outline) => {
  const corners = [];
  let x = 0, y = 0;
  for (const [, letter, rest] of outline.matchAll(/([MHVZ])([^MHVZ]*)/g)) {
    const numbers = (rest.match(/-?\d*\.?\d+/g) || []).map(Number);
    if (letter === "H") { x = numbers[0]; corners.push([x, y]); }
    else if (letter === "V") { y = numbers[0]; corners.push([x, y]); }
    else for (let i = 0; i + 1 < numbers.length; i += 2) { [x, y] = [numbers[i], numbers[i + 1]]; corners.push([x, y]); }
  }
  return corners;
};

// The pen of a canvas, as far as paint.js uses it; what it draws becomes SVG.
const svgPen = (width, height) => {
  const parts = [], measuring = document.createElement("canvas").getContext("2d"), saved = [];
  let path = "", clips = 0, open = 0, transform = "";
  const anchors = { left: "start", center: "middle", right: "end" };
  const pen = {
    globalAlpha: 1, fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, font: MAP_FONT, textAlign: "left", textBaseline: "alphabetic",
    beginPath: () => { path = ""; },
    moveTo: (x, y) => { path += `M${short(x)} ${short(y)}`; },
    lineTo: (x, y) => { path += `${path ? "L" : "M"}${short(x)} ${short(y)}`; },
    closePath: () => { path += "Z"; },
    arc: (x, y, r) => { path += `M${short(x - r)} ${short(y)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`; },
    rect: (x, y, w, h) => { path += `M${short(x)} ${short(y)}h${short(w)}v${short(h)}h${short(-w)}Z`; },
    roundRect: (x, y, w, h, r) => {
      path += `M${short(x + r)} ${short(y)}h${short(w - 2 * r)}a${r} ${r} 0 0 1 0 ${h}h${short(2 * r - w)}a${r} ${r} 0 0 1 0 ${-h}Z`;
    },
    fill: () => parts.push(`<path d="${path}" fill="${escapeXml(pen.fillStyle)}" fill-opacity="${pen.globalAlpha}"/>`),
    stroke: () => parts.push(`<path d="${path}" fill="none" stroke="${escapeXml(pen.strokeStyle)}" stroke-width="${pen.lineWidth}" stroke-opacity="${pen.globalAlpha}"/>`),
    fillRect: (x, y, w, h) => { pen.beginPath(); pen.rect(x, y, w, h); pen.fill(); },
    clip: () => {
      clips += 1;
      open += 1;
      parts.push(`<clipPath id="clip${clips}"><path d="${path}"/></clipPath><g clip-path="url(#clip${clips})">`);
    },
    save: () => { saved.push({ open, transform }); },
    restore: () => {
      const before = saved.pop();
      while (open > before.open) { parts.push("</g>"); open -= 1; }
      transform = before.transform;
    },
    translate: (x, y) => { transform += `translate(${short(x)} ${short(y)})`; },
    rotate: (angle) => { transform += `rotate(${Math.round(angle * 180 / Math.PI)})`; },
    measureText: (text) => { measuring.font = pen.font; return measuring.measureText(text); },
    fillText: (text, x, y) => {
      const lower = pen.textBaseline === "middle" ? 4 : 0, weight = pen.font.startsWith("600") ? ' font-weight="600"' : "";
      const turned = transform ? ` transform="${transform}"` : "";
      parts.push(`<text x="${short(x)}" y="${short(y + lower)}" fill="${escapeXml(pen.fillStyle)}" fill-opacity="${pen.globalAlpha}" text-anchor="${anchors[pen.textAlign]}"${weight}${turned}>${escapeXml(text)}</text>`);
    },
    drawImage: (image, x, y, w, h) => parts.push(`<image href="${image.toDataURL()}" x="${short(x)}" y="${short(y)}" width="${short(w)}" height="${short(h)}" opacity="${pen.globalAlpha}" preserveAspectRatio="none" image-rendering="pixelated"/>`),
    addPoints: (places, outline, radius, color, alpha) => parts.push(`<path d="${markers(places, outline, radius)}" fill="${escapeXml(color)}" fill-opacity="${alpha.toFixed(2)}"/>`),
    text: () => `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12">${parts.join("")}</svg>\n`,
  };
  return pen;
};
const markers = (places, outline, radius) => { // one path: offsets from the place of each row
  const r = short(radius), turn = short(2 * radius);
  if (outline.includes("A")) return places.map(([x, y]) => `M${short(x - radius)} ${short(y)}a${r} ${r} 0 1 0 ${turn} 0a${r} ${r} 0 1 0-${turn} 0`).join("");
  const corners = cornersOf(outline).map(([x, y]) => [x * radius, y * radius]);
  const steps = corners.slice(1).map(([x, y], i) => `l${short(x - corners[i][0])} ${short(y - corners[i][1])}`).join("");
  return places.map(([x, y]) => `M${short(x + corners[0][0])} ${short(y + corners[0][1])}${steps}Z`).join("");
};

// The groups below a saved picture: texts, and columns that are wide enough for the longest.
const legendLayout = (groups, width) => {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = MAP_FONT;
  const texts = groups.map(({ j, name }) => (name ? `${j}  ${name}` : `${j}`)), room = width - LEGEND_MARGIN;
  const longest = Math.max(0, ...texts.map((text) => pen.measureText(text).width));
  const column = Math.min(room, Math.max(LEGEND_COLUMN, longest + 31)), columns = Math.max(1, Math.floor(room / column));
  return { texts, column, columns, height: LEGEND_ROW * Math.ceil(texts.length / columns) + 12 };
};
const paintLegend = (pen, groups, { texts, column, columns }, top, colors) => {
  pen.font = MAP_FONT;
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  groups.forEach(({ color }, i) => {
    const x = LEGEND_MARGIN + (i % columns) * column, y = top + LEGEND_ROW * (Math.floor(i / columns) + 0.5);
    pen.beginPath();
    pen.arc(x, y, 5, 0, 2 * Math.PI);
    pen.fillStyle = color;
    pen.fill();
    pen.fillStyle = colors.ink;
    pen.fillText(shortened(texts[i], column - 30, (part) => pen.measureText(part).width), x + 12, y);
  });
};

const saveText = (text) => download(text, "image/svg+xml", "map.svg"); // of export.js
const saveCanvas = (canvas) => canvas.toBlob((blob) => download(blob, "image/png", "map.png"), "image/png");

// Save the map as it is shown, in light colours, with the names of its groups.
const savePicture = (picture, rows, view, state, kind) => {
  const colors = lightColors(), before = state.highlight, ratio = kind === "svg" ? 1 : 2;
  const groups = rows.bySize.filter((j) => !state.hidden.has(j)).slice(0, MAX_LEGEND_ROWS);
  const named = groups.map((j) => ({ j, name: properName(state.names, j), color: picture.colorOf(j, colors) }));
  const legend = legendLayout(named, view.wide), height = view.high + legend.height, target = document.createElement("canvas");
  Object.assign(target, { width: Math.round(view.wide * ratio), height: Math.round(height * ratio) });
  const pen = kind === "svg" ? svgPen(view.wide, height) : target.getContext("2d", { willReadFrequently: true });
  if (kind === "png") pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  state.highlight = -1;
  pen.fillStyle = colors.paper;
  pen.fillRect(0, 0, view.wide, height);
  picture.paint(pen, colors, ratio);
  paintLegend(pen, named, legend, view.high + 4, colors);
  state.highlight = before;
  if (kind === "svg") saveText(pen.text()); else saveCanvas(target);
};

// A drawing of the page as a text of its own: the colours of the style sheet become attributes.
const standaloneSvg = (drawing) => {
  const root = document.documentElement, before = root.dataset.theme;
  root.dataset.theme = "light";
  const copy = drawing.cloneNode(true), from = [drawing, ...drawing.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    ["fill", "fill-opacity", "stroke", "stroke-width", "font-size", "font-weight"].forEach((name) => to[i].setAttribute(name, style.getPropertyValue(name)));
    to[i].removeAttribute("class");
  });
  const back = getComputedStyle(document.body).backgroundColor;
  if (before) root.dataset.theme = before; else delete root.dataset.theme;
  const [, , width, height] = drawing.getAttribute("viewBox").split(" ");
  Object.entries({ xmlns: "http://www.w3.org/2000/svg", width, height, "font-family": "system-ui, sans-serif" }).forEach(([name, value]) => copy.setAttribute(name, value));
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  Object.entries({ width, height, fill: back }).forEach(([name, value]) => paper.setAttribute(name, value));
  copy.prepend(paper);
  return { text: new XMLSerializer().serializeToString(copy), width: Number(width), height: Number(height) };
};
const saveDrawing = (drawing, kind) => {
  const { text, width, height } = standaloneSvg(drawing);
  if (kind === "svg") { saveText(text); return; }
  const image = new Image(), canvas = document.createElement("canvas");
  image.addEventListener("load", () => {
    Object.assign(canvas, { width: 2 * width, height: 2 * height });
    canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
    saveCanvas(canvas);
  });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
};
