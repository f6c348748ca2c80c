// The map on a canvas: a tile in the colour of its median for each cell, lines of equal value, axes and a colour bar.
import { amount } from "../html/format.mjs";
import { colourMap, layOut, levels, place, readableOn, rgb, ticksOf } from "../html/scale.mjs";
import { circle, colourBar, cross, diamond, stroke, widthOf, write, writeColumns, writeRows, writeUpwards } from "../html/canvas.mjs";
import { medianOf } from "./grid.mjs";
import { interpolator, isoLines } from "./contour.mjs";
import { isAbove } from "./readout.mjs";

// Space for a character of a label, in pixels.
const CHARACTER = 7;
// Space for the title of the colour bar.
const TITLE = 18;
// An axis without numbers: one row.
const ONE_ROW = { centres: [0.5], limits: [0, 1] };

// Returns the places of a map on a canvas of this size. The first row is at the bottom. `scale` is that of the colours.
export function mapGeometry(kernel, state, grid, scale, { width, height }) {
  const numbers = (axis, indices) => indices.map((index) => kernel.axes[axis].numbers[index]);
  const x = layOut(numbers(state.x, grid.columns), kernel.axes[state.x].log);
  const y = state.y === null ? ONE_ROW : layOut(numbers(state.y, grid.rows), kernel.axes[state.y].log);
  const longest = (labels) => CHARACTER * Math.max(0, ...labels.map((label) => label.length));
  const named = hasTitle(width) ? 22 : 8;
  const area = { left: named + (state.y === null ? 0 : longest(grid.rows.map((index) => kernel.axes[state.y].names[index]))), top: 8 };
  const { unit } = kernel.quantities[state.colour];
  area.width = width - area.left - 26 - (hasTitle(width) ? TITLE : 0) - (scale ? longest(levels(scale).map((level) => amount(level, unit))) : 0);
  area.height = height - area.top - 42;
  const toX = (share) => area.left + share * area.width;
  const toY = (share) => area.top + (1 - share) * area.height;
  const find = (limits, share) => limits.findIndex((limit, k) => k + 1 < limits.length && share >= limit && share < limits[k + 1]);
  return {
    area, x, y, toX, toY,
    rect: ([row, column]) => {
      const [left, bottom] = [toX(x.limits[column]), toY(y.limits[row])];
      return { left, top: toY(y.limits[row + 1]), width: toX(x.limits[column + 1]) - left, height: bottom - toY(y.limits[row + 1]) };
    },
    centre: ([row, column]) => [toX(x.centres[column]), toY(y.centres[row])],
    // The row and column at a point of the canvas; null beside the map.
    placeAt: (px, py) => {
      const column = find(x.limits, (px - area.left) / area.width);
      const row = find(y.limits, 1 - (py - area.top) / area.height);
      return row < 0 || column < 0 ? null : [row, column];
    },
  };
}

// A narrow map has no title of y; its control has the name.
function hasTitle(width) {
  return width >= 480;
}

export function drawMap(context, view) {
  drawTiles(context, view);
  drawActive(context, view);
  drawLines(context, view);
  drawCodes(context, view);
  drawAxes(context, view);
  if (view.scale) drawColourBar(context, view);
}

function drawTiles(context, view) {
  const { grid, geometry, state, scale, theme } = view;
  const colourAt = colourMap(view.colours);
  grid.cells.forEach((cells, row) => cells.forEach((cell, column) => {
    const rect = geometry.rect([row, column]);
    const median = medianOf(cell, state.colour);
    if (scale && Number.isFinite(place(scale, median))) {
      const colour = colourAt(place(scale, median));
      context.fillStyle = rgb(colour);
      context.fillRect(rect.left, rect.top, rect.width, rect.height);
      if (isAbove(view.kernel, cell)) drawStripes(context, rect, readableOn(colour));
      if (cell.disturbed) drawCorner(context, rect, readableOn(colour));
    } else {
      drawHatch(context, rect, theme);
    }
    const centre = [rect.left + rect.width / 2, rect.top + rect.height / 2];
    if (cell && cell.failed && !cell.n) cross(context, centre, 5, theme.ink, 2);
    context.strokeStyle = theme.paper;
    context.lineWidth = 1;
    context.strokeRect(rect.left, rect.top, rect.width, rect.height);
  }));
}

// A triangle in the upper right corner marks a disturbed cell.
function drawCorner(context, rect, colour) {
  const size = Math.min(9, rect.width / 2, rect.height / 2);
  // The frame of the chosen cell does not cover it.
  const [right, top] = [rect.left + rect.width - size / 2, rect.top + size / 2];
  context.fillStyle = colour;
  context.beginPath();
  context.moveTo(right - size, top);
  context.lineTo(right, top);
  context.lineTo(right, top + size);
  context.fill();
}

function drawHatch(context, rect, theme) {
  context.fillStyle = theme.panel;
  context.fillRect(rect.left, rect.top, rect.width, rect.height);
  drawStripes(context, rect, theme.line);
}

function drawStripes(context, rect, colour) {
  context.save();
  context.beginPath();
  context.rect(rect.left, rect.top, rect.width, rect.height);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.beginPath();
  for (let offset = -rect.height; offset < rect.width; offset += 7) {
    context.moveTo(rect.left + offset, rect.top + rect.height);
    context.lineTo(rect.left + offset + rect.height, rect.top);
  }
  context.stroke();
  context.restore();
}

// Returns the lines of a map at each level, in grid coordinates.
export function contoursOf(grid, quantity, scale) {
  const values = grid.cells.map((cells) => cells.map((cell) => place(scale, medianOf(cell, quantity))));
  return levels(scale).map((level) => ({ level, lines: isoLines(values, place(scale, level)) }));
}

function drawLines(context, { geometry, state, contours, kernel }) {
  const [toX, toY] = [interpolator(geometry.x.centres), interpolator(geometry.y.centres)];
  const labels = [];
  for (const { level, lines: onGrid } of contours) {
    const lines = onGrid.map((line) => line.map(([x, y]) => [geometry.toX(toX(x)), geometry.toY(toY(y))]));
    for (const [colour, width] of [["rgba(255,255,255,.65)", 3], ["#000000", 1]]) {
      for (const line of lines) stroke(context, line, colour, width);
    }
    const longest = lines.reduce((best, line) => (line.length > best.length ? line : best), []);
    if (longest.length > 1) labels.push([amount(level, kernel.quantities[state.colour].unit), longest]);
  }
  drawLabels(context, labels, geometry.area);
}

// Labels each line at a point in its middle where no other label is.
function drawLabels(context, labels, area) {
  const taken = [];
  for (const [text, line] of labels) {
    const width = widthOf(context, text) + 6;
    const free = line.map(([x, y]) => ({ x, y, width })).filter(({ x, y }) =>
      x - width / 2 > area.left && x + width / 2 < area.left + area.width && y > area.top + 8 && y < area.top + area.height - 8 &&
      taken.every((other) => Math.abs(other.x - x) > (other.width + width) / 2 || Math.abs(other.y - y) > 16));
    const label = free[Math.floor(free.length / 2)];
    if (!label) continue;
    taken.push(label);
    context.fillStyle = "rgba(255,255,255,.85)";
    context.fillRect(label.x - width / 2, label.y - 8, width, 16);
    write(context, text, label.x, label.y, "#000000");
  }
}

// Returns the codes on this map, with their places in grid coordinates: column and row.
function codesOn(kernel, state, grid) {
  if (state.y === null) return [];
  const indexOf = (axis, indices, code) => {
    const { name, log, numbers } = kernel.axes[axis];
    const inner = (number) => (log ? Math.log(number) : number);
    const [value, known] = [inner(code.at[name]), indices.map((index) => inner(numbers[index]))];
    const next = known.findIndex((number) => number >= value - 1e-9);
    if (next > 0) return next - (known[next] - value) / (known[next] - known[next - 1]);
    return next === 0 && value > known[0] - 1e-9 ? 0 : NaN;
  };
  const places = kernel.codes.map((code) => ({ name: code.name, column: indexOf(state.x, grid.columns, code), row: indexOf(state.y, grid.rows, code) }));
  return places.filter(({ column, row }) => Number.isFinite(column) && Number.isFinite(row));
}

// Returns the names of the codes in a cell of the map.
export function codesAt(kernel, state, grid, [row, column]) {
  const nearest = codesOn(kernel, state, grid).filter((code) => Math.round(code.row) === row && Math.round(code.column) === column);
  return nearest.map((code) => code.name);
}

// Draws a diamond for each code, with its name where there is room.
function drawCodes(context, { kernel, state, grid, geometry }) {
  const [toX, toY] = [interpolator(geometry.x.centres), interpolator(geometry.y.centres)];
  const right = geometry.area.left + geometry.area.width;
  const codes = codesOn(kernel, state, grid).map(({ name, column, row }) => ({ name, x: geometry.toX(toX(column)), y: geometry.toY(toY(row)) }));
  const taken = codes.map(({ x, y }) => ({ x, y, width: 12 }));
  for (const { name, x, y } of codes) {
    const width = widthOf(context, name) + 6;
    const isFree = (middle) => middle - width / 2 > geometry.area.left && middle + width / 2 < right &&
      taken.every((other) => Math.abs(other.x - middle) > (other.width + width) / 2 || Math.abs(other.y - y) > 16);
    const label = [x + 8 + width / 2, x - 8 - width / 2].find(isFree);
    if (label !== undefined) {
      taken.push({ x: label, y, width });
      context.fillStyle = "rgba(255,255,255,.75)";
      context.fillRect(label - width / 2, y - 8, width, 16);
      write(context, name, label, y, "#000000");
    }
    diamond(context, [x, y], 6, "#ffffff", "#000000");
  }
}

function drawAxes(context, { kernel, state, grid, geometry, size, theme }) {
  const { area } = geometry;
  const right = area.left + area.width;
  context.strokeStyle = theme.ink;
  context.lineWidth = 1;
  context.strokeRect(area.left, area.top, area.width, area.height);
  const x = kernel.axes[state.x];
  const columns = grid.columns.map((index, k) => [x.names[index], geometry.toX(geometry.x.centres[k])]);
  writeColumns(context, columns, area.top + area.height + 12, theme.ink, right);
  write(context, x.label, area.left + area.width / 2, area.top + area.height + 30, theme.ink);
  if (state.y === null) return;
  const y = kernel.axes[state.y];
  const rows = grid.rows.map((index, k) => [y.names[index], geometry.toY(geometry.y.centres[k])]);
  writeRows(context, rows, area.left - 6, theme.ink);
  if (hasTitle(size.width)) writeUpwards(context, y.label, 10, area.top + area.height / 2, theme.ink);
}

function drawColourBar(context, { kernel, state, geometry: { area }, size, scale, colours, theme }) {
  const left = area.left + area.width + 8;
  colourBar(context, colours, { ...area, left, width: 12 }, theme.ink);
  const { unit, label } = kernel.quantities[state.colour];
  const labels = ticksOf(scale).map((level) => [amount(level, unit), area.top + (1 - place(scale, level)) * area.height]);
  writeRows(context, labels, left + 16, theme.ink, "left");
  if (!hasTitle(size.width)) return;
  const title = unit ? `${label} (${unit})` : label;
  writeUpwards(context, title, size.width - 8, area.top + area.height / 2, theme.ink);
}

function drawActive(context, { geometry, active, theme, state }) {
  const rect = geometry.rect(active);
  for (const [colour, width] of [[theme.paper, 6], [theme.mark, 3]]) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.strokeRect(rect.left, rect.top, rect.width, rect.height);
  }
  if (!state.pin) return;
  circle(context, geometry.centre(active), 5, theme.mark, theme.paper, 2);
}
