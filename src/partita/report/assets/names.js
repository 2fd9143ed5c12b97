"use strict";
// Names of groups: edited in the cards, shown everywhere, saved as a new file.
(() => {
  const pristine = document.documentElement.outerHTML; // before any script changes the page
  const names = JSON.parse(document.getElementById("names").textContent);
  const find = (id) => document.getElementById(id);
  const naming = find("naming"), note = find("naming-note"), rename = find("rename");
  const MAX_CHARACTERS = 200; // as in model files
  const cleaned = (text) => text.replace(/[\p{C}\p{Z}]+/gu, " ").trim().slice(0, MAX_CHARACTERS);
  rename.parentElement.hidden = false;

  const show = (j) => {
    document.querySelectorAll(`[data-name-of="${j}"]`).forEach((place) => { place.textContent = names[j]; });
    document.dispatchEvent(new CustomEvent("names", { detail: names }));
  };
  const edit = (card) => { // replace the name in a card by a field
    const place = card.querySelector("[data-name-of]"), j = Number(place.dataset.nameOf);
    const field = document.createElement("input");
    field.value = names[j];
    field.maxLength = MAX_CHARACTERS;
    field.dataset.field = j;
    field.setAttribute("aria-label", `Name of group ${j}`);
    field.addEventListener("input", () => {
      names[j] = cleaned(field.value) || `Group ${j}`;
      show(j);
      note.textContent = "";
    });
    field.addEventListener("keydown", (event) => { if (event.key === "Escape" || event.key === "Enter") end(); });
    place.hidden = true;
    place.after(field);
    return field;
  };
  const begin = () => {
    naming.hidden = false;
    rename.setAttribute("aria-expanded", "true");
    const fields = [...document.querySelectorAll(".card")].map(edit);
    if (fields.length) fields[0].focus();
  };
  const end = () => {
    document.querySelectorAll(".card input[data-field]").forEach((field) => {
      field.previousElementSibling.hidden = false;
      field.remove();
    });
    naming.hidden = true;
    rename.setAttribute("aria-expanded", "false");
    rename.focus();
  };
  rename.addEventListener("click", () => (naming.hidden ? begin() : end()));
  find("done").addEventListener("click", end);

  // The page as it was, with the new names: the serializer of the browser escapes them.
  const renamed = () => {
    const page = new DOMParser().parseFromString(pristine, "text/html");
    page.querySelectorAll("[data-name-of]").forEach((place) => { place.textContent = names[Number(place.dataset.nameOf)]; });
    page.getElementById("names").textContent = JSON.stringify(names).replaceAll("<", "\\u003c");
    return `<!doctype html>\n${page.documentElement.outerHTML}\n`;
  };
  find("save").addEventListener("click", () => {
    const file = decodeURIComponent(location.pathname.split("/").pop() || "report.html").replace(/(\.html?)?$/i, "-named.html");
    download(renamed(), "text/html", file);
    note.textContent = `Saved as ${file} in your downloads.`;
  });
  const shellWord = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const option = () => {
    const pairs = names.map((name, j) => `${j}=${/[",]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name}`);
    return `--names ${shellWord(pairs.join(","))}`;
  };
  find("copy").addEventListener("click", async () => {
    if (new Set(names).size < names.length) {
      note.textContent = "Give each group a name of its own first.";
      return;
    }
    try {
      await navigator.clipboard.writeText(option());
      note.textContent = "Copied: paste it after partita report, fit or name.";
    } catch {
      note.textContent = option(); // to be copied by hand
    }
  });
})();
