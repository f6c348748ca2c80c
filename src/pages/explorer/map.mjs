// The map on a canvas: a tile in the colour of its median for each cell, lines of equal value, axes and a colour bar.
import { amount } from "./format.mjs";
import { colourAt, layOut, levels, place, readableOn } from "./scale.mjs";
import { medianOf } from "./grid.mjs";
import { interpolator, isoLines } from "./contour.mjs";

const FONT = "12px system-ui, sans-serif";
// Space for a character of a label, in pixels.
const CHARACTER = 7;
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
  area.width = width - area.left - 26 - (scale ? longest(levels(scale).map((level) => amount(level, unit))) : 0);
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
  context.font = FONT;
  drawTiles(context, view);
  drawActive(context, view);
  drawLines(context, view);
  drawAxes(context, view);
  if (view.scale) drawColourBar(context, view);
}

function drawTiles(context, view) {
  const { grid, geometry, state, scale, theme } = view;
  grid.cells.forEach((cells, row) => cells.forEach((cell, column) => {
    const rect = geometry.rect([row, column]);
    const median = medianOf(cell, state.colour);
    if (scale && Number.isFinite(place(scale, median))) {
      const colour = colourAt(view.colours, place(scale, median));
      context.fillStyle = `rgb(${colour.join(",")})`;
      context.fillRect(rect.left, rect.top, rect.width, rect.height);
      if (cell.disturbed) drawCorner(context, rect, readableOn(colour));
    } else {
      drawHatch(context, rect, theme);
    }
    if (cell && cell.failed && !cell.n) drawCross(context, rect, theme.ink);
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
  context.save();
  context.beginPath();
  context.rect(rect.left, rect.top, rect.width, rect.height);
  context.clip();
  context.fillStyle = theme.panel;
  context.fillRect(rect.left, rect.top, rect.width, rect.height);
  context.strokeStyle = theme.line;
  context.lineWidth = 1;
  context.beginPath();
  for (let offset = -rect.height; offset < rect.width; offset += 7) {
    context.moveTo(rect.left + offset, rect.top + rect.height);
    context.lineTo(rect.left + offset + rect.height, rect.top);
  }
  context.stroke();
  context.restore();
}

function drawCross(context, rect, colour) {
  const [x, y] = [rect.left + rect.width / 2, rect.top + rect.height / 2];
  context.strokeStyle = colour;
  context.lineWidth = 2;
  context.beginPath();
  for (const sign of [-1, 1]) {
    context.moveTo(x - 5, y - 5 * sign);
    context.lineTo(x + 5, y + 5 * sign);
  }
  context.stroke();
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
      context.strokeStyle = colour;
      context.lineWidth = width;
      for (const line of lines) strokeLine(context, line);
    }
    const longest = lines.reduce((best, line) => (line.length > best.length ? line : best), []);
    if (longest.length > 1) labels.push([amount(level, kernel.quantities[state.colour].unit), longest]);
  }
  drawLabels(context, labels, geometry.area);
}

function strokeLine(context, line) {
  context.beginPath();
  line.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.stroke();
}

// Labels each line at a point in its middle where no other label is.
function drawLabels(context, labels, area) {
  const taken = [];
  for (const [text, line] of labels) {
    const width = context.measureText(text).width + 6;
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

export function write(context, text, x, y, colour, align = "center") {
  context.fillStyle = colour;
  context.textAlign = align;
  context.textBaseline = "middle";
  context.fillText(text, x, y);
}

// Writes the labels of an axis along the bottom, as many as fit.
export function writeColumns(context, labels, y, colour, right) {
  const widest = Math.max(...labels.map(([text]) => context.measureText(text).width)) + 8;
  let last = -Infinity;
  for (const [text, x] of labels) {
    if (x - last < widest || x + widest / 2 > right + 12) continue;
    write(context, text, x, y, colour);
    last = x;
  }
}

// Writes labels along the left side, as many as fit, from the bottom up.
export function writeRows(context, labels, x, colour) {
  let last = Infinity;
  for (const [text, y] of labels) {
    if (last - y < 16) continue;
    write(context, text, x, y, colour, "right");
    last = y;
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
  if (!hasTitle(size.width)) return;
  context.save();
  context.translate(10, area.top + area.height / 2);
  context.rotate(-Math.PI / 2);
  write(context, y.label, 0, 0, theme.ink);
  context.restore();
}

function drawColourBar(context, { kernel, state, geometry, scale, colours, theme }) {
  const { area } = geometry;
  const left = area.left + area.width + 8;
  for (let y = 0; y < area.height; y++) {
    context.fillStyle = `rgb(${colourAt(colours, 1 - y / area.height).join(",")})`;
    context.fillRect(left, area.top + y, 12, 1.5);
  }
  context.strokeStyle = theme.ink;
  context.strokeRect(left, area.top, 12, area.height);
  let last = Infinity;
  for (const level of levels(scale)) {
    const y = area.top + (1 - place(scale, level)) * area.height;
    if (y < area.top - 1 || y > area.top + area.height + 1 || last - y < 16) continue;
    write(context, amount(level, kernel.quantities[state.colour].unit), left + 16, y, theme.ink, "left");
    last = y;
  }
}

function drawActive(context, { geometry, active, theme, state }) {
  const rect = geometry.rect(active);
  for (const [colour, width] of [[theme.paper, 6], [theme.mark, 3]]) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.strokeRect(rect.left, rect.top, rect.width, rect.height);
  }
  if (!state.pin) return;
  const [x, y] = geometry.centre(active);
  context.beginPath();
  context.arc(x, y, 5, 0, 2 * Math.PI);
  context.fillStyle = theme.mark;
  context.fill();
  context.strokeStyle = theme.paper;
  context.lineWidth = 2;
  context.stroke();
}
