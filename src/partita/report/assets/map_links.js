"use strict";
// Links between all places of the page that show the same group: [data-group].
const markGroup = (() => {
  let marked = -1;
  return (j) => {
    if (j === marked) return;
    marked = j;
    document.querySelectorAll(".pointed").forEach((part) => part.classList.remove("pointed"));
    if (j >= 0) document.querySelectorAll(`[data-group="${j}"]`).forEach((part) => part.classList.add("pointed"));
  };
})();
(() => {
  let highlight = -1;
  const point = (event) => {
    const part = event.target.closest && event.target.closest("[data-group]"), j = part ? Number(part.dataset.group) : -1;
    if (j === highlight || event.target.id === "canvas") return;
    highlight = j;
    markGroup(j);
    document.dispatchEvent(new CustomEvent("highlight", { detail: j })); // map.js listens
  };
  document.addEventListener("pointerover", point);
  document.addEventListener("focusin", point);
  const drawing = document.querySelector("#drawing svg");
  if (!drawing) return;
  document.querySelectorAll(".save").forEach((part) => { part.hidden = false; });
  document.querySelectorAll("[data-save]").forEach((button) => button.addEventListener("click", () => saveDrawing(drawing, button.dataset.save)));
})();
