"use strict";
// Files from the page: offered as downloads, made in the browser.
const download = (content, type, name) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: `${type};charset=utf-8` }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
};

(() => {
  const THIN_SPACE = /\u202f/g;
  // A number as spreadsheets read it; a text that would be a formula is one no more.
  const csvCell = (text) => {
    const number = text.replace(THIN_SPACE, "").replace("−", "-");
    if (/^-?[\d.]+(e[+-]?\d+)?$/i.test(number)) return number;
    const safe = /^[=+\-@\t]/.test(text) ? `'${text}` : text;
    return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const cellText = (cell) => {
    const parts = [...cell.querySelectorAll(":scope > span")].map((part) => part.textContent.trim());
    return (parts.length > 1 ? parts.join("; ") : cell.textContent).replace(/\s+/g, " ").trim();
  };
  document.querySelectorAll("button.csv").forEach((button) => {
    button.hidden = false;
    button.addEventListener("click", () => {
      const rows = [...document.getElementById(button.dataset.table).rows];
      const lines = rows.map((row) => [...row.cells].map((cell) => csvCell(cellText(cell))).join(","));
      download(`\ufeff${lines.join("\r\n")}\r\n`, "text/csv", button.dataset.file);
    });
  });
})();
