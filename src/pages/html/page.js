// The script of apexmap's HTML pages: downloads, values under the pointer, a switch for light and dark.
// All content is visible without it. Text from files only becomes text (textContent), never markup.
"use strict";

const page = {
  // Makes an element with attributes and children; strings become text.
  make(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
  },

  // `of`: distinguishes the button from others with the same text, for screen readers.
  button(text, title, onclick, of = "") {
    return page.make("button", { type: "button", title, onclick, "aria-label": `${text}: ${title}${of && ", " + of}` }, text);
  },

  // Downloads a file.
  save(name, blob) {
    const link = page.make("a", { href: URL.createObjectURL(blob), download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  },

  // Converts a text to a file name.
  fileName(text) {
    return text.normalize("NFKD").replace(/[^\w.=-]+/g, "-").replace(/^[-.]+|-+$/g, "").slice(0, 80) || "table";
  },
};

// ---- Tables: as CSV ----

// RFC 4180. An apostrophe precedes text that a spreadsheet would take for a formula.
page.csv = function (table) {
  const field = (cell) => {
    const text = cell.textContent.replace(/\s+/g, " ").trim();
    const safe = /^[=+\-@\t]/.test(text) && !/^[+\-]?[\d.]+(e[+\-]?\d+)?$/i.test(text) ? "'" + text : text;
    return /[",\n]/.test(safe) ? '"' + safe.replaceAll('"', '""') + '"' : safe;
  };
  return [...table.rows].map((row) => [...row.cells].map(field).join(",") + "\r\n").join("");
};

// Returns the caption, or the heading before the table.
page.titleOf = function (table) {
  if (table.caption && table.caption.textContent.length < 60) return table.caption.textContent;
  const before = [...document.querySelectorAll("h1, h2, h3")].filter(
    (heading) => heading.compareDocumentPosition(table) & Node.DOCUMENT_POSITION_FOLLOWING);
  return before.length ? before[before.length - 1].textContent : document.title;
};

page.nameOf = (table) => page.fileName(table.dataset.name || page.titleOf(table));

// Makes boxes with hidden content scrollable by keys, and marks them with a fading edge.
page.enhanceScroll = function (box) {
  const mark = () => {
    const hidden = box.scrollWidth - box.clientWidth;
    box.classList.toggle("more", hidden - box.scrollLeft > 2);
    if (!box.matches(".scroll")) return;
    if (hidden > 2 || box.scrollHeight - box.clientHeight > 2) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  };
  box.addEventListener("scroll", mark, { passive: true });
  new ResizeObserver(mark).observe(box);
};

page.enhanceTable = function (table) {
  const save = () => page.save(page.nameOf(table) + ".csv", new Blob([page.csv(table)], { type: "text/csv" }));
  const about = "Save this table as comma-separated values";
  const tools = page.make("div", { class: "tools" }, page.button("CSV", about, save, page.titleOf(table)));
  const scroll = table.closest(".scroll");
  if (scroll) {
    scroll.setAttribute("role", "group");
    scroll.setAttribute("aria-label", "Table: " + page.titleOf(table));
  }
  (scroll || table).before(tools);
};

// ---- Figures: as SVG and PNG, and their values under the pointer ----

page.svgText = (svg) => new XMLSerializer().serializeToString(svg);

// Draws the figure at twice its size, on white paper.
page.pngOf = function (svg, width, height) {
  const copy = svg.cloneNode(true);
  copy.setAttribute("width", 2 * width);
  copy.setAttribute("height", 2 * height);
  const picture = new Image();
  return new Promise((done, failed) => {
    picture.onload = () => {
      const canvas = page.make("canvas", { width: 2 * width, height: 2 * height });
      canvas.getContext("2d").drawImage(picture, 0, 0);
      canvas.toBlob(done, "image/png");
    };
    picture.onerror = failed;
    picture.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(page.svgText(copy));
  });
};

// The label that follows the pointer, one for the whole page.
page.hint = page.make("div", { class: "hint", hidden: "" });

page.showHint = function (x, y, pairs) {
  page.hint.replaceChildren();
  for (const [name, value] of pairs) {
    page.hint.append(page.make("div", {}, name + ": ", page.make("b", {}, value)));
  }
  page.hint.hidden = false;
  const { width, height } = page.hint.getBoundingClientRect();
  const left = x + 14 + width > innerWidth ? x - width - 14 : x + 14;
  page.hint.style.left = Math.max(4, left) + "px";
  page.hint.style.top = Math.max(4, Math.min(y + 14, innerHeight - height - 4)) + "px";
};

page.enhanceFigure = function (figure) {
  const drawing = figure.querySelector(".drawing");
  const svg = drawing.querySelector("svg");
  const [width, height] = [Number(figure.dataset.width), Number(figure.dataset.height)];
  const file = page.fileName(figure.dataset.file);
  const saveSvg = () => page.save(file + ".svg", new Blob([page.svgText(svg)], { type: "image/svg+xml" }));
  const savePng = () => page.pngOf(svg, width, height).then((blob) => page.save(file + ".png", blob));
  const tools = page.make("div", { class: "tools" },
    page.button("SVG", "Save this figure as SVG", saveSvg, figure.ariaLabel),
    page.button("PNG", "Save this figure as PNG", savePng, figure.ariaLabel));
  [...figure.querySelectorAll(".drawing")].pop().after(tools);

  const table = figure.querySelector("table");
  const spots = table ? [...table.tBodies[0].rows].filter((row) => row.dataset.at) : [];
  const places = spots.map((row) => row.dataset.at.split(" ").map(Number));
  if (!spots.length) return;
  const heads = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  const ring = page.make("div", { class: "ring", hidden: "" });
  figure.append(ring);
  let at = -1;

  const hide = () => {
    page.hint.hidden = ring.hidden = true;
    delete figure.dataset.point;
  };
  const show = (k) => {
    at = k;
    const [box, outer] = [svg.getBoundingClientRect(), figure.getBoundingClientRect()];
    const x = box.left + (places[k][0] / width) * box.width;
    const y = box.top + (places[k][1] / height) * box.height;
    ring.hidden = false;
    ring.style.left = x - outer.left + "px";
    ring.style.top = y - outer.top + "px";
    const values = [...spots[k].cells].map((cell) => cell.textContent);
    const pairs = heads.map((head, c) => [head, values[c]]).filter(([, value]) => value);
    page.showHint(x, y, pairs);
    figure.dataset.point = k;
    return pairs;
  };
  const point = (event) => {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * width;
    const y = ((event.clientY - box.top) / box.height) * height;
    let [best, least] = [-1, 60 * 60]; // maximum distance of the pointer from a point, squared
    places.forEach(([px, py], k) => {
      const distance = (px - x) ** 2 + (py - y) ** 2;
      if (distance < least) [best, least] = [k, distance];
    });
    if (best < 0) hide();
    else show(best);
  };
  drawing.addEventListener("pointermove", point);
  drawing.addEventListener("pointerdown", point);
  // The value under a lifted finger stays visible until the finger scrolls or touches something else.
  drawing.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && hide());
  drawing.addEventListener("pointercancel", hide);

  // Arrow keys step from point to point; screen readers announce the values.
  const live = page.make("p", { class: "live", role: "status", "aria-live": "polite" });
  figure.append(live);
  drawing.tabIndex = 0;
  drawing.setAttribute("role", "application");
  drawing.setAttribute("aria-roledescription", "figure with values");
  drawing.setAttribute("aria-description", "Arrow keys step from point to point.");
  drawing.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") return hide();
    if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const pairs = show((at + step + spots.length) % spots.length);
    live.textContent = pairs.map(([name, value]) => name + " " + value).join(", ");
  });
  drawing.addEventListener("blur", () => {
    hide();
    live.textContent = "";
  });
};

// ---- Light and dark ----

page.addThemeSwitch = function () {
  const dark = () => {
    const chosen = document.documentElement.style.colorScheme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const button = page.button("", "Light or dark", () => {
    document.documentElement.style.colorScheme = dark() ? "light" : "dark";
    name();
    document.dispatchEvent(new Event("themechange"));
  });
  button.className = "theme";
  const name = () => {
    button.textContent = dark() ? "Light" : "Dark";
    button.ariaLabel = button.textContent + ": change the colours of this page";
  };
  name();
  const changed = () => {
    name();
    document.dispatchEvent(new Event("themechange"));
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  document.querySelector("main").prepend(button);
};

document.body.append(page.hint);
page.addThemeSwitch();
document.querySelectorAll("figure.picture").forEach(page.enhanceFigure);
// The table of all points contains the corners, so they need no download.
document.querySelectorAll("table:not(.corners, .bars)").forEach(page.enhanceTable);
document.querySelectorAll(".scroll, .drawing").forEach(page.enhanceScroll);
// Unfold all details for printing.
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details.fold:not([open])")];
  folded.forEach((one) => (one.open = true));
});
addEventListener("afterprint", () => folded.forEach((one) => (one.open = false)));
addEventListener("scroll", () => (page.hint.hidden = true), { passive: true });
