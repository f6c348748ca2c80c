// A slice of the map on a canvas: medians along one axis with intervals, the bound, and the prediction of the best model.
import { amount } from "../html/format.mjs";
import { place, roundOutwards, scaleOf, ticksOf } from "../html/scale.mjs";
import { circle, stroke, write, writeColumns, writeRows } from "../html/canvas.mjs";

// Returns the points of the slice through the active cell along x or y.
export function slicePoints(kernel, state, grid, active, side) {
  const axis = kernel.axes[state[side]];
  const indices = side === "x" ? grid.columns : grid.rows;
  return indices.map((index, k) => {
    const position = side === "x" ? [active[0], k] : [k, active[1]];
    const cell = grid.cells[position[0]][position[1]];
    const summary = (cell && cell.summaries[state.colour]) || [];
    const quantity = kernel.quantities[state.colour];
    const bound = cell && quantity.bound !== undefined && cell.summaries[quantity.bound];
    // The models are sorted by their errors.
    const terms = cell && (cell.terms || []).find((one) => one.column === quantity.name);
    return {
      position, number: axis.numbers[index], name: axis.names[index], median: summary[0], low: summary[1], high: summary[2],
      disturbed: Boolean(cell && cell.disturbed), bound: bound ? bound[0] : undefined, predicted: terms ? terms.predicted : undefined,
    };
  });
}

// Returns the scale of both slices; undefined if they have no value.
export function sliceScale(points, log) {
  const values = points.flatMap(({ median, low, high, bound, predicted }) => [median, low, high, bound, predicted]);
  const scale = scaleOf(values.filter((value) => typeof value === "number"), log);
  return scale && roundOutwards(scale);
}

export function sliceGeometry(points, axis, { width, height }) {
  const area = { left: 64, top: 10, width: width - 76, height: height - 52 };
  const scale = scaleOf(points.map((point) => point.number), axis.log);
  const toX = (number) => area.left + (0.04 + 0.92 * place(scale, number)) * area.width;
  return {
    area, toX,
    // The point nearest to a position on the canvas.
    pointAt: (px) => points.reduce((best, point) =>
      (Math.abs(toX(point.number) - px) < Math.abs(toX(best.number) - px) ? point : best), points[0]),
  };
}

export function drawSlice(context, { points, axis, geometry, scale, unit, active, theme }) {
  const { area, toX } = geometry;
  const toY = (value) => area.top + (1 - place(scale, value)) * area.height;
  const steps = ticksOf(scale);
  for (const level of steps) stroke(context, [[area.left, toY(level)], [area.left + area.width, toY(level)]], theme.line);
  writeRows(context, steps.map((level) => [amount(level, unit), toY(level)]), area.left - 6, theme.ink);
  writeColumns(context, points.map((point) => [point.name, toX(point.number)]), area.top + area.height + 12, theme.ink, area.left + area.width);
  write(context, axis.label, area.left + area.width / 2, area.top + area.height + 30, theme.ink);
  const line = (key) => points.filter((point) => Number.isFinite(place(scale, point[key]))).map((point) => [toX(point.number), toY(point[key])]);
  stroke(context, line("bound"), theme.soft, 1.5, [7, 4]);
  stroke(context, line("predicted"), theme.ink, 1.5, [2, 3]);
  for (const run of measuredRuns(points)) stroke(context, run.map((point) => [toX(point.number), toY(point.median)]), theme.link, 1.5);
  for (const point of points) if (Number.isFinite(point.median)) drawPoint(context, point, toX(point.number), toY, theme, scale);
  const chosen = points.find((point) => point.position[0] === active[0] && point.position[1] === active[1]);
  stroke(context, [[toX(chosen.number), area.top], [toX(chosen.number), area.top + area.height]], theme.mark, 1.5);
  if (Number.isFinite(place(scale, chosen.median))) {
    circle(context, [toX(chosen.number), toY(chosen.median)], 6, null, theme.mark, 2.5);
  }
}

// Returns the runs of neighbouring points that were measured. A gap interrupts the line.
function measuredRuns(points) {
  const runs = [[]];
  for (const point of points) {
    if (Number.isFinite(point.median)) runs[runs.length - 1].push(point);
    else runs.push([]);
  }
  return runs;
}

// A filled dot, or a hollow one if the cell was disturbed, with the interval as a bar.
function drawPoint(context, point, x, toY, theme, scale) {
  if (!Number.isFinite(place(scale, point.median))) return;
  if (Number.isFinite(point.low) && Number.isFinite(place(scale, point.low))) {
    stroke(context, [[x, toY(point.low)], [x, toY(point.high)]], theme.link, 3);
  }
  circle(context, [x, toY(point.median)], 3.5, point.disturbed ? theme.paper : theme.link, theme.link, 1.5);
}
