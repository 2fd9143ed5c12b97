"use strict";
(() => {
  const root = document.documentElement;
  const repaint = () => document.dispatchEvent(new Event("repaint")); // map.js listens

  // The theme, and the choice of K: folded on the screen, open on paper. Other details are printed as the reader left them.
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const theme = document.getElementById("theme");
  theme.addEventListener("click", () => {
    const now = root.dataset.theme || (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    repaint();
  });
  dark.addEventListener("change", repaint);
  let folded = [], before;
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("#choice:not([open])")];
    folded.forEach((part) => { part.open = true; });
    before = root.dataset.theme;
    root.dataset.theme = "light"; // the map is painted before printing begins
    repaint();
  });
  addEventListener("afterprint", () => {
    folded.forEach((part) => { part.open = false; });
    if (before) root.dataset.theme = before;
    else delete root.dataset.theme;
    repaint();
  });
})();
