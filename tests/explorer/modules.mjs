// Tests of the modules of pages under node, against vectors of the crate: node modules.mjs MODULES VECTORS
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import vm from "node:vm";

const [modules, vectorFile] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${modules}/${name}.mjs`));
for (const name of ["d3-array", "d3-contour"]) vm.runInThisContext(readFileSync(`${modules}/explorer/vendor/${name}.min.js`, "utf8"));
const vectors = JSON.parse(readFileSync(vectorFile, "utf8"));
const { amount, interval } = await load("html/format");
const { colourMap, layOut, levels, place, readableOn, roundOutwards, scaleOf, spanDouble } = await load("html/scale");
const { BOX_HEIGHT, projectionOf } = await load("html/camera");
const { pointNear } = await load("html/surface");
const { commonValues, firstPlace, gridOf, mediansOf, sliceAxes, step } = await load("explorer/grid");
const { chooseAxis, fromAddress, initialState, toAddress } = await load("explorer/state");
const { interpolator, isoLines } = await load("explorer/contour");
const { codesAt, mapGeometry } = await load("explorer/map");
const { sliceGeometry, slicePoints, sliceScale } = await load("explorer/slice");
const { intervalText, isAbove, readoutOf, shareText, tableColumns } = await load("explorer/readout");

const close = (actual, expected, name) =>
  assert.ok(Math.abs(actual - expected) <= 1e-9 * Math.max(1, Math.abs(expected)), `${name}: ${actual} is not ${expected}`);

test("amounts and intervals are those of the crate", () => {
  assert.ok(vectors.amounts.length > 500 && vectors.intervals.length > 20);
  for (const [value, unit, text] of vectors.amounts) assert.equal(amount(value, unit), text, `${value} ${unit}`);
  for (const [low, high, unit, text] of vectors.intervals) assert.equal(interval(low, high, unit), text);
});

test("levels of contours and rounded scales are those of the crate", () => {
  assert.ok(vectors.levels.length >= 20);
  for (const { low, high, log, levels: expected, outwards } of vectors.levels) {
    const found = levels({ low, high, log });
    assert.equal(found.length, expected.length, `${low} to ${high}, log ${log}: ${found}`);
    found.forEach((value, k) => close(value, expected[k], `${low} to ${high}`));
    const { low: first, high: last } = roundOutwards({ low, high, log });
    close(first, outwards[0], "low end");
    close(last, outwards[1], "high end");
  }
});

test("scales skip missing values and widen if all values are equal", () => {
  assert.deepEqual(scaleOf([NaN, 2, 8], true), { low: 2, high: 8, log: true });
  assert.deepEqual(scaleOf([4, 4], true), { low: 2, high: 8, log: true });
  assert.deepEqual(scaleOf([0], false), { low: -1, high: 1, log: false });
  assert.equal(scaleOf([NaN], false), undefined);
  assert.equal(scaleOf([0, -1], true), undefined);
  close(place({ low: 1, high: 100, log: true }, 10), 0.5, "place");
});

test("colours span at least a factor of two around the values", () => {
  assert.deepEqual(spanDouble({ low: 1, high: 3, log: true }), { low: 1, high: 3, log: true });
  assert.deepEqual(spanDouble({ low: -1, high: 1, log: false }), { low: -1, high: 1, log: false });
  const { low, high } = spanDouble({ low: 15.4, high: 15.8, log: false });
  close(high / low, 2, "span");
  assert.ok(low < 15.4 && high > 15.8);
});

test("codes are in the cells of their alpha and L, and fractions above one are marked", () => {
  const axis = (name, numbers) => ({ name, log: true, numbers });
  const codes = [{ name: "walk", at: { block_words: 1, alpha: 1 } }, { name: "between", at: { block_words: 7, alpha: 0.2 } }, { name: "outside", at: { block_words: 900, alpha: 1 } }];
  const kernel = { axes: [axis("block_words", [1, 8, 64]), axis("alpha", [0.1, 1])], codes, share: 0 };
  const grid = { columns: [0, 1, 2], rows: [0, 1] };
  const state = { x: 0, y: 1 };
  assert.deepEqual(codesAt(kernel, state, grid, [1, 0]), ["walk"]);
  assert.deepEqual(codesAt(kernel, state, grid, [0, 1]), ["between"]);
  assert.deepEqual(codesAt(kernel, state, grid, [1, 2]), []);
  assert.deepEqual(codesAt(kernel, { x: 0, y: null }, grid, [0, 0]), []);
  const above = (summary) => isAbove(kernel, { summaries: [summary] });
  assert.deepEqual([[1.2, 1.1, 1.3], [1.2, 0.9, 1.3], [1.2], [0.9]].map(above), [true, false, true, false]);
  const words = shareText(kernel, { bound_by: "memory", summaries: [[1.2, 1.1, 1.3]] });
  assert.equal(words, "120 % (110 to 130), above the limit: card is wrong");
});

test("limits of cells are midway between the values on their scale", () => {
  const { centres, limits } = layOut([1, 10, 1000], true);
  // Decades 0, 1, 3: limits at -0.5, 0.5, 2, 4.
  [0, 1 / 4.5, 2.5 / 4.5, 1].forEach((limit, k) => close(limits[k], limit, "limit"));
  [0.5 / 4.5, 1.5 / 4.5, 3.5 / 4.5].forEach((centre, k) => close(centres[k], centre, "centre"));
  assert.deepEqual(layOut([7], false), { centres: [0.5], limits: [0, 1] });
});

// Returns the points of lines on the edges of the grid, sorted, without repetitions.
function crossings(lines) {
  const whole = (value) => Math.abs(value - Math.round(value)) < 1e-9;
  const points = lines.flat().filter(([x, y]) => whole(x) || whole(y));
  const names = points.map(([x, y]) => `${(Math.round(x * 1e8) / 1e8 + 0).toFixed(8)} ${(Math.round(y * 1e8) / 1e8 + 0).toFixed(8)}`);
  return [...new Set(names)].sort();
}

test("d3-contour crosses the edges of a grid where the crate does", () => {
  let points = 0;
  for (const { values, level, lines } of vectors.contours) {
    const known = values.map((row) => row.map((value) => (value === null ? NaN : value)));
    const expected = crossings(lines);
    assert.deepEqual(crossings(isoLines(known, level)), expected, `level ${level} of ${JSON.stringify(values)}`);
    points += expected.length;
  }
  assert.ok(vectors.contours.length > 30 && points > 200, `${points}`);
});

test("a line ends at the border and at a gap", () => {
  const [line] = isoLines([[0, 0, 0], [1, 1, 1]], 0.25);
  assert.deepEqual(line.map(([x]) => x).sort(), [0, 1, 2]);
  line.forEach(([, y]) => close(y, 0.25, "y"));
  assert.deepEqual(isoLines([[0, NaN, 0], [1, 1, 1]], 0.25), []);
  assert.deepEqual(isoLines([[0, 1]], 0.5), []);
  assert.equal(interpolator([0.1, 0.2, 0.6])(1.5), 0.4);
  assert.equal(interpolator([0.1, 0.2, 0.6])(2), 0.6);
});

test("a colour is the crate's at its stops, and text on it is readable", () => {
  const stops = vectors.data.colours;
  assert.equal(stops.length, 33);
  const colourAt = colourMap(stops);
  assert.deepEqual(colourAt(0), [1, 3, 5].map((at) => parseInt(stops[0].slice(at, at + 2), 16)));
  assert.deepEqual(colourAt(7), colourAt(1));
  assert.equal(readableOn(colourAt(0)), "#ffffff");
  assert.equal(readableOn(colourAt(1)), "#000000");
});

test("every cell of a result is in exactly one map", () => {
  for (const [index, kernel] of vectors.data.kernels.entries()) {
    const state = initialState(vectors.data, index);
    const others = sliceAxes(kernel, state);
    const choices = others.reduce((all, axis) => all.flatMap((one) => kernel.axes[axis].values.map((_, k) => [...one, [axis, k]])), [[]]);
    const seen = choices.flatMap((choice) => {
      const slices = [...state.slices];
      for (const [axis, k] of choice) slices[axis] = k;
      return gridOf(kernel, { ...state, slices }).cells.flat().filter(Boolean);
    });
    assert.equal(seen.length, kernel.cells.length);
    assert.equal(new Set(seen).size, kernel.cells.length);
    const common = commonValues(kernel);
    assert.ok(common.every((value, axis) => value < kernel.axes[axis].values.length));
  }
});

test("the state returns from its address, and unknown names keep the defaults", () => {
  const { data } = vectors;
  const state = initialState(data);
  const kernel = data.kernels[0];
  state.colour = 1;
  const [axis] = sliceAxes(kernel, state);
  state.slices[axis] = 1;
  state.pin = { [state.x]: 2, [state.y]: 1 };
  assert.deepEqual(fromAddress(data, toAddress(data, state)), state);
  chooseAxis(kernel, state, "x", state.y);
  assert.equal(state.pin, null);
  assert.deepEqual(fromAddress(data, toAddress(data, state)), state);
  assert.equal(fromAddress(data, "#limits"), null);
  const hostile = "#explorer?kernel=<script>&x=nothing&y=__proto__&colour=none&at.M=x&pin=1,2,3,constructor";
  assert.deepEqual(fromAddress(data, hostile), initialState(data));
});

test("keys step through a map and stop at its edges", () => {
  const grid = { rows: [0, 1], columns: [0, 1, 2] };
  assert.deepEqual(step([0, 0], "ArrowUp", grid), [1, 0]);
  assert.deepEqual(step([0, 0], "ArrowDown", grid), [0, 0]);
  assert.deepEqual(step([0, 1], "End", grid), [0, 2]);
  assert.deepEqual(step([1, 2], "PageDown", grid), [0, 2]);
  assert.equal(step([0, 0], "a", grid), undefined);
});

test("a point of the canvas belongs to the cell that is drawn there", () => {
  const { data } = vectors;
  const [kernel, state] = [data.kernels[0], initialState(data)];
  const grid = gridOf(kernel, state);
  const scale = scaleOf(mediansOf(grid, 0), true);
  const geometry = mapGeometry(kernel, state, grid, scale, { width: 600, height: 400 });
  grid.rows.forEach((_, row) => grid.columns.forEach((_, column) => {
    assert.deepEqual(geometry.placeAt(...geometry.centre([row, column])), [row, column]);
    const { left, top, width, height } = geometry.rect([row, column]);
    assert.deepEqual(geometry.placeAt(left + 0.5, top + height - 0.5), [row, column]);
    assert.deepEqual(geometry.placeAt(left + width - 0.5, top + 0.5), [row, column]);
  }));
  assert.equal(geometry.placeAt(1, 1), null);
  assert.ok(firstPlace(grid).every((index) => index >= 0));
});

test("slices have the values of the map, and the nearest point is found", () => {
  const { data } = vectors;
  const [kernel, state] = [data.kernels[0], initialState(data)];
  const grid = gridOf(kernel, state);
  for (const side of ["x", "y"]) {
    const points = slicePoints(kernel, state, grid, [1, 1], side);
    for (const point of points) {
      const cell = grid.cells[point.position[0]][point.position[1]];
      assert.equal(point.median, cell && cell.summaries[0] ? cell.summaries[0][0] : undefined);
    }
    const geometry = sliceGeometry(points, kernel.axes[state[side]], { width: 500, height: 200 });
    for (const point of points) assert.equal(geometry.pointAt(geometry.toX(point.number) + 1), point);
    const scale = sliceScale(points, true);
    for (const { median } of points) if (median) assert.ok(place(scale, median) >= 0 && place(scale, median) <= 1);
  }
  assert.ok(mediansOf(grid, 0).some(Number.isFinite));
});

test("the readout has everything about a cell, and says what is not known", () => {
  const kernel = {
    share: 1, axes: [{ symbol: "L", label: "L", names: ["64"] }],
    quantities: [{ name: "rate", label: "bandwidth", unit: "B/s" }, { name: "share", label: "share", unit: "" }],
  };
  const cell = {
    at: [0], n: 5, launches: 2, failed: 1, quietness: "disturbed, 3 of 5", bound_by: "memory",
    summaries: [[1.5e9, 1e9, 2e9], [0.5, 0.4, 0.6]],
    terms: [{ model: "m, fitted", column: "rate", predicted: 3e9, terms: "memory 61 %" }],
  };
  kernel.cells = [cell];
  const texts = Object.fromEntries(readoutOf(kernel, { colour: 0, x: 0, y: null }, [0], cell).map(([part, , text]) => [part, text]));
  assert.deepEqual(texts, {
    place: "64", median: "1.5 GB/s", interval: "1 to 2 GB/s", n: "5", launches: "2", failed: "1", quietness: "disturbed, 3 of 5",
    share: "50 % (40 to 60), memory", terms: "predicted 3 GB/s, measured / predicted 0.5; memory 61 %",
  });
  assert.equal(intervalText([1], ""), "none: too few samples");
  assert.equal(intervalText([1, "2 launches"], ""), "not known: 2 launches");
  assert.equal(readoutOf(kernel, { colour: 0, x: 0, y: null }, [0], null)[1][2], "not measured");
  assert.equal(shareText({ share: null }, cell), "");
  assert.deepEqual(tableColumns(kernel, { colour: 0, x: 0, y: null }).map(([name]) => name),
    ["L", "median", "95 % interval", "n", "launches", "quietness", "fraction of the bound", "terms of the models"]);
});

test("a camera in front of the box sees x to the right, and a cell in front hides a point", () => {
  const { project, outerEdges } = projectionOf({ azimuth: -90, elevation: 0 }, 100, [50, 60]);
  const middle = project([0.5, 0.5, BOX_HEIGHT / 2]);
  close(middle.x, 50, "x of the middle");
  close(middle.y, 60, "y of the middle");
  close(project([1, 0.5, BOX_HEIGHT / 2]).x, 100, "x of the right side");
  assert.ok(project([0.5, 0, 0]).depth > project([0.5, 1, 0]).depth, "y goes away from the reader");
  assert.equal(outerEdges(2).length, 2);
  const cell = [[0, 0], [10, 0], [10, 10], [0, 10]].map(([x, y], k) => ({ x, y, depth: 1, i: k, j: 0 }));
  const points = [{ x: 5, y: 5, depth: 0, i: 8, j: 8 }, { x: 9, y: 9, depth: 2, i: 9, j: 9 }];
  assert.equal(pointNear({ points, cells: [cell] }, 5, 5), 1);
  assert.equal(pointNear({ points, cells: [] }, 5, 5), 0);
  assert.equal(pointNear({ points, cells: [] }, 90, 90), -1);
});
