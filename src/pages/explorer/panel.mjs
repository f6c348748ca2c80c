// The panel: controls, and the map, slices, readout and table that show the same cell. `page` is that of page.js.
import { firstPlace, gridOf, mediansOf, sliceAxes, step } from "./grid.mjs";
import { roundOutwards, scaleOf, spanDouble } from "../html/scale.mjs";
import { onFrame, sizeCanvas, themeOf } from "../html/canvas.mjs";
import { chooseAxis, fromAddress, initialState, toAddress } from "./state.mjs";
import { codesAt, contoursOf, drawMap, mapGeometry } from "./map.mjs";
import { drawSlice, sliceGeometry, slicePoints, sliceScale } from "./slice.mjs";
import { ABOVE, readoutOf, tableColumns } from "./readout.mjs";

const MAX_TABLE_ROWS = 5000;

class Explorer {
  constructor(section) {
    this.section = section;
    this.data = JSON.parse(section.querySelector("script").textContent);
    this.redraw = onFrame(() => this.draw());
    this.build();
    const fromLink = fromAddress(this.data, location.hash);
    this.show(fromLink || initialState(this.data));
    this.draw();
    if (fromLink) section.scrollIntoView();
    addEventListener("hashchange", () => {
      const state = fromAddress(this.data, location.hash);
      if (!state) return;
      this.show(state);
      this.redraw();
    });
    document.addEventListener("themechange", () => this.redraw());
    new ResizeObserver(() => this.redraw()).observe(this.panel);
  }

  get kernel() {
    return this.data.kernels[this.state.kernel];
  }

  // ---- parts ----

  build() {
    const make = page.make;
    this.bar = make("div", { class: "bar" });
    this.map = make("canvas", { tabindex: 0, role: "application", "aria-roledescription": "map of cells", "data-part": "map" });
    const slice = (side) => make("canvas", { role: "img", "data-part": "slice-" + side, "aria-label": "Slice along " + side });
    this.slices = { x: slice("x"), y: slice("y") };
    this.readout = make("dl", { class: "readout" });
    this.pinButton = make("button", { type: "button", onclick: () => this.togglePin(this.active) });
    this.live = make("p", { class: "live", role: "status", "aria-live": "polite" });
    this.table = make("table", { "data-name": "explorer" });
    const scroll = make("div", { class: "scroll" }, this.table);
    const side = make("div", { class: "side" }, this.readout, this.pinButton);
    this.panel = make("div", { class: "panel" }, this.bar,
      make("div", { class: "pair" }, make("div", {}, this.map), side),
      make("p", { class: "soft help" }, "Point at a cell, or use the arrow keys, Home, End, Page Up and Page Down on the map. A click or Enter pins a cell, and " +
        "Escape unpins it. The address then leads to this view. Hatched: not measured; cross: failed; corner or hollow dot: disturbed. " +
        this.describeMarks() + "Slices: bars are 95 % intervals, dashes the bound, dots the model with the smallest error."),
      make("div", { class: "pair" }, make("div", {}, this.slices.x), make("div", {}, this.slices.y)), this.live,
      ...this.data.notes.map((note) => make("p", { class: "soft" }, note)),
      make("details", { class: "cells", open: "" }, make("summary", {}, "Cells of this map"), scroll));
    this.section.querySelector("h2").after(this.panel);
    page.enhanceScroll(scroll);
    this.listen();
  }

  describeMarks() {
    const has = (part) => this.data.kernels.some(part);
    const codes = has((kernel) => kernel.codes.length) ? "Diamonds: codes at their estimated alpha and L. " : "";
    return codes + (has((kernel) => kernel.share !== null) ? `Striped: ${ABOVE}. ` : "");
  }

  listen() {
    this.map.addEventListener("pointermove", (event) => this.point(this.placeUnder(event)));
    this.map.addEventListener("click", (event) => this.togglePin(this.placeUnder(event)));
    this.map.addEventListener("keydown", (event) => this.press(event));
    for (const side of ["x", "y"]) {
      const positionUnder = (event) => this.sliceGeometries[side].pointAt(event.offsetX).position;
      this.slices[side].addEventListener("pointermove", (event) => this.point(positionUnder(event)));
      this.slices[side].addEventListener("click", (event) => this.togglePin(positionUnder(event)));
    }
    const placeOfRow = (event) => {
      const row = event.target.closest("tr[data-place]");
      return row && row.dataset.place.split(" ").map(Number);
    };
    this.table.addEventListener("pointerover", (event) => this.point(placeOfRow(event)));
    this.table.addEventListener("click", (event) => this.togglePin(placeOfRow(event)));
  }

  placeUnder(event) {
    return this.geometry.placeAt(event.offsetX, event.offsetY);
  }

  // ---- state ----

  show(state) {
    this.state = state;
    this.grid = gridOf(this.kernel, state);
    const pinned = state.pin && [state.y === null ? 0 : this.grid.rows.indexOf(state.pin[state.y]), this.grid.columns.indexOf(state.pin[state.x])];
    if (pinned && pinned.includes(-1)) state.pin = null;
    this.active = state.pin ? pinned : firstPlace(this.grid);
    const { log } = this.kernel.quantities[state.colour];
    const scale = scaleOf(mediansOf(this.grid, state.colour), log);
    this.scale = scale && roundOutwards(spanDouble(scale));
    this.contours = this.scale ? contoursOf(this.grid, state.colour, this.scale) : [];
    this.fillBar();
    this.fillTable();
    this.update();
  }

  // Applies a change of the controls and writes it into the address.
  change(edit) {
    const state = { ...this.state, slices: [...this.state.slices] };
    edit(state);
    this.show(state);
    this.remember();
    this.redraw();
  }

  remember() {
    history.replaceState(null, "", toAddress(this.data, this.state));
  }

  // Shows the cell under the pointer, unless another is pinned.
  point(place) {
    if (!place || this.state.pin || !this.grid.rows.length) return;
    this.activate(place);
  }

  activate(place) {
    this.active = place;
    if (this.state.pin) this.pinTo(place);
    this.update();
    this.redraw();
  }

  pinTo([row, column]) {
    const { x, y } = this.state;
    this.state.pin = { [x]: this.grid.columns[column] };
    if (y !== null) this.state.pin[y] = this.grid.rows[row];
    this.remember();
  }

  togglePin(place) {
    if (!place) return;
    const same = this.state.pin && place.join() === this.active.join();
    this.active = place;
    if (same) this.unpin();
    else this.pinTo(place);
    this.update();
    this.redraw();
    this.announce();
  }

  unpin() {
    this.state.pin = null;
    this.remember();
  }

  press(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const place = step(this.active, event.key, this.grid);
    const pins = event.key === "Enter" || (event.key === "Escape" && this.state.pin);
    if (!place && !pins) return;
    event.preventDefault();
    if (place) this.activate(place);
    else this.togglePin(this.active);
    this.announce();
  }

  announce() {
    const text = this.values().map(([, name, value]) => `${name} ${value}`).join(", ");
    this.live.textContent = this.state.pin ? `Pinned: ${text}` : text;
  }

  // ---- what is shown ----

  // Returns the value on each axis, and the cell, at a place of the map.
  cellAt([row, column]) {
    const at = [...this.state.slices];
    at[this.state.x] = this.grid.columns[column];
    if (this.state.y !== null) at[this.state.y] = this.grid.rows[row];
    return { at, cell: this.grid.cells[row][column] };
  }

  values() {
    if (!this.grid.rows.length) return [["median", "cells", "none was measured with these values"]];
    const { at, cell } = this.cellAt(this.active);
    const codes = codesAt(this.kernel, this.state, this.grid, this.active);
    return readoutOf(this.kernel, this.state, at, cell, codes);
  }

  update() {
    this.readout.replaceChildren(...this.values().flatMap(([part, name, text]) =>
      [page.make("dt", {}, name), page.make("dd", { "data-part": part }, text)]));
    this.pinButton.textContent = this.state.pin ? "Unpin" : "Pin";
    this.pinButton.ariaLabel = this.pinButton.textContent + " this cell";
    this.pinButton.hidden = !this.grid.rows.length;
    const before = this.table.querySelector("tr[aria-current]");
    if (before) before.removeAttribute("aria-current");
    const row = this.table.querySelector(`tr[data-place="${this.active.join(" ")}"]`);
    if (!row) return;
    row.setAttribute("aria-current", "true");
    this.scrollTable(row);
  }

  // Scrolls the table, but not the page, to a row; not while the pointer is on the table.
  scrollTable(row) {
    const box = this.table.parentElement;
    if (box.matches(":hover")) return;
    const top = row.offsetTop - this.table.tHead.offsetHeight;
    if (top < box.scrollTop || row.offsetTop + row.offsetHeight > box.scrollTop + box.clientHeight) box.scrollTop = top;
  }

  choice(label, options, chosen, choose) {
    const select = page.make("select", { onchange: () => this.change((state) => choose(state, Number(select.value))) });
    for (const [value, text] of options) select.append(page.make("option", { value }, text));
    select.value = chosen;
    return page.make("label", {}, page.make("span", {}, label), " ", select);
  }

  fillBar() {
    const focused = [...this.bar.querySelectorAll("select")].indexOf(document.activeElement);
    const { kernel, state } = this;
    const axes = [...kernel.axes.entries()].filter(([, axis]) => axis.numeric).map(([index, axis]) => [index, axis.label]);
    const indexed = (list, text) => list.map((one, index) => [index, text(one)]);
    const parts = [];
    if (this.data.kernels.length > 1) {
      parts.push(this.choice("kernel", indexed(this.data.kernels, (one) => one.kernel), state.kernel,
        (next, index) => Object.assign(next, initialState(this.data, index))));
    }
    parts.push(this.choice("colour", indexed(kernel.quantities, (one) => one.label), state.colour, (next, index) => (next.colour = index)));
    parts.push(this.choice("x", axes, state.x, (next, index) => chooseAxis(kernel, next, "x", index)));
    if (state.y !== null) parts.push(this.choice("y", axes, state.y, (next, index) => chooseAxis(kernel, next, "y", index)));
    for (const index of sliceAxes(kernel, state)) {
      const axis = kernel.axes[index];
      parts.push(this.choice(axis.symbol, indexed(axis.names, (name) => name), state.slices[index], (next, value) => {
        next.slices[index] = value;
      }));
    }
    this.bar.replaceChildren(...parts);
    if (focused >= 0 && parts[focused]) parts[focused].querySelector("select").focus();
  }

  fillTable() {
    const columns = tableColumns(this.kernel, this.state);
    const rows = this.grid.cells.flatMap((cells, row) => cells.map((cell, column) => [`${row} ${column}`, cell])).filter(([, cell]) => cell);
    const head = page.make("tr", {}, ...columns.map(([name, , kind]) => page.make("th", { scope: "col", class: kind || "" }, name)));
    const body = rows.slice(0, MAX_TABLE_ROWS).map(([place, cell]) =>
      page.make("tr", { "data-place": place }, ...columns.map(([, text, kind]) => page.make("td", { class: kind || "place" }, text(cell)))));
    const left = rows.length - body.length;
    const caption = `${this.kernel.quantities[this.state.colour].label}${left ? `, without the last ${left} cells` : ""}`;
    this.table.replaceChildren(page.make("caption", {}, caption), page.make("thead", {}, head), page.make("tbody", {}, ...body));
    if (!this.section.querySelector(".tools")) page.enhanceTable(this.table);
  }

  // Sizes a canvas for its place on the page.
  prepare(canvas, heightOf) {
    const width = canvas.clientWidth;
    const size = { width, height: heightOf(width) };
    return { context: sizeCanvas(canvas, size), size };
  }

  draw() {
    const theme = themeOf(this.panel);
    const { kernel, state, grid, scale, active } = this;
    this.section.dataset.cells = grid.cells.flat().filter(Boolean).length;
    const empty = !grid.rows.length;
    this.map.hidden = this.slices.x.hidden = empty;
    this.slices.y.hidden = empty || state.y === null;
    if (empty) return;
    const { context, size } = this.prepare(this.map, (width) => Math.min(Math.max(width * 0.66, 260), 460));
    this.geometry = mapGeometry(kernel, state, grid, scale, size);
    const { left, top, width, height } = this.geometry.area;
    this.map.dataset.area = [left, top, width, height].join(" ");
    drawMap(context, { kernel, state, grid, geometry: this.geometry, size, scale, contours: this.contours, colours: this.data.colours, theme, active });
    this.map.ariaLabel = this.mapLabel();
    this.drawSlices(theme);
  }

  mapLabel() {
    const { kernel, state } = this;
    const over = state.y === null ? "" : ` and ${kernel.axes[state.y].symbol}`;
    return `Map of ${kernel.kernel}: ${kernel.quantities[state.colour].label} over ${kernel.axes[state.x].symbol}${over}. Arrow keys move from cell to cell; Enter pins.`;
  }

  drawSlices(theme) {
    const { kernel, state, grid, active } = this;
    const { unit, log, label } = kernel.quantities[state.colour];
    const sides = state.y === null ? ["x"] : ["x", "y"];
    const points = Object.fromEntries(sides.map((side) => [side, slicePoints(kernel, state, grid, active, side)]));
    const scale = sliceScale(Object.values(points).flat(), log);
    this.sliceGeometries = {};
    for (const side of sides) {
      const axis = kernel.axes[state[side]];
      const { context, size } = this.prepare(this.slices[side], () => 230);
      const geometry = sliceGeometry(points[side], axis, size);
      this.sliceGeometries[side] = geometry;
      this.slices[side].ariaLabel = `${label} over ${axis.symbol}, through the cell of the readout`;
      if (scale) drawSlice(context, { points: points[side], axis, geometry, scale, unit, active, theme });
    }
  }
}

export function startExplorer() {
  const section = document.getElementById("explorer");
  if (section) new Explorer(section);
}
