// The drawing of a surface in its box. The painting order is that of the figures (src/draw/figure/surface.rs): the back sides first, then
// the surface, cell by cell from its far corner to the near one.
import { colourMap, place, rgb } from "./scale.mjs";
import { BOX_HEIGHT, projectionOf } from "./camera.mjs";
import { circle, colourBar, cross, stroke, widthOf, write, writeRows, writeUpwards } from "./canvas.mjs";

const TICK_FONT = "13px system-ui, sans-serif";
const TITLE_FONT = "600 14px system-ui, sans-serif";

export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
const lineOf = (points) => points.map(({ x, y }) => [x, y]);

// Draws a view: `surface`, the `axes` of the box, a `net` over the surface or none, the `camera`, the `size` of the canvas and the `theme`.
// Returns the projected points and cells.
export function drawSurface(context, view) {
  const { surface, axes, net, camera, theme, size: { width, height, small, narrow } } = view;
  // The colour bar is at the right. On a small screen it is below, so that the surface has the full width.
  const [wide, high] = small ? [width, height - 62] : [width - 104, height];
  const scale = Math.min(wide * (small ? 0.53 : 0.6), high * (narrow && !small ? 0.7 : 0.76)) * camera.zoom;
  const projection = projectionOf(camera, scale, [wide / 2 + (small ? 28 : 34), high / 2 - 12]);
  context.fillStyle = theme.paper;
  context.fillRect(0, 0, width, height);
  context.save();
  context.beginPath();
  context.rect(0, 0, wide, high);
  context.clip();
  drawBackSides(context, projection, axes, theme);
  const drawn = drawCells(context, projection, solidOf(surface, axes), surface);
  if (net) drawNet(context, projection, solidOf(net, axes), theme);
  drawAxes(context, projection, view, [wide, high]);
  const point = drawn.points[view.point];
  if (point) circle(context, [point.x, point.y], 7, null, theme.mark, 2.5);
  context.restore();
  if (small) drawFlatBar(context, surface, axes[2], theme, [width, high]);
  else drawBar(context, surface, axes[2], theme, [wide, height]);
  return drawn;
}

// Returns the positions of a surface in the box, NaN where it has no value.
function solidOf(surface, [x, y, z]) {
  return {
    x: surface.x.values.map((value) => place(x, value)),
    y: surface.y.values.map((value) => place(y, value)),
    z: surface.values.map((row) => row.map((value) => (value === null ? NaN : place(z, value) * BOX_HEIGHT))),
  };
}

function polygon(context, points, fill, rim, width) {
  context.beginPath();
  points.forEach(({ x, y }, k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.closePath();
  context.fillStyle = fill;
  context.fill();
  context.strokeStyle = rim;
  context.lineWidth = width;
  context.stroke();
}

// Draws the sides of the box behind the surface, with lines at the ticks.
function drawBackSides(context, projection, axes, theme) {
  for (const { p, q, point } of projection.backSides()) {
    polygon(context, [point(0, 0), point(1, 0), point(1, 1), point(0, 1)], theme.panel, theme.soft, 0.8);
    const line = (ends) => stroke(context, lineOf(ends), theme.line);
    for (const { value } of axes[p].ticks) line([point(place(axes[p], value), 0), point(place(axes[p], value), 1)]);
    for (const { value } of axes[q].ticks) line([point(0, place(axes[q], value)), point(1, place(axes[q], value))]);
  }
}

function drawCells(context, projection, solid, { values, failed, colours }) {
  const [columns, rows] = [solid.x.length, solid.y.length];
  const colour = colourMap(colours);
  const isKnown = ([i, j]) => Number.isFinite(solid.z[j][i]);
  const at = ([i, j]) => ({ ...projection.project([solid.x[i], solid.y[j], solid.z[j][i]]), i, j, value: values[j][i] });
  const failedAt = ([i, j]) => ({ ...projection.project([solid.x[i], solid.y[j], guessedHeight(solid, i, j)]), i, j, value: null });
  const cells = [];
  // Use few patches for small cells; their colours still look smooth.
  const fine = clamp(Math.round(Math.sqrt(5000 / ((columns - 1) * (rows - 1)))), 1, 8);
  for (const [i, j] of projection.order(columns - 1, rows - 1)) {
    const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]];
    if (corners.every(isKnown)) {
      drawPatches(context, projection, solid, [i, j], fine, colour);
      cells.push(corners.map(at));
    }
    corners.forEach((corner, k) => {
      const edge = [corner, corners[(k + 1) % 4]];
      if (edge.every(isKnown)) stroke(context, lineOf(edge.map(at)), "rgba(30,30,30,.75)", 0.8);
    });
    for (const { x, y } of corners.filter(isKnown).map(at)) circle(context, [x, y], 2, "#222", "#fff", 0.8);
    for (const corner of corners.filter(([a, b]) => failed.some(([row, column]) => row === b && column === a))) {
      const { x, y } = failedAt(corner);
      cross(context, [x, y], 5, "#fff", 4);
      cross(context, [x, y], 4, "#c81e1e", 2);
    }
  }
  const places = values.flatMap((row, j) => row.map((_, i) => [i, j]));
  return { cells, points: [...places.filter(isKnown).map(at), ...failed.map(([j, i]) => failedAt([i, j]))] };
}

// Draws one cell as bilinear patches, the far ones first.
function drawPatches(context, projection, solid, [i, j], fine, colour) {
  const mix = (a, b, t) => a + t * (b - a);
  const point = (u, v) => {
    const row = (k) => mix(solid.z[k][i], solid.z[k][i + 1], u / fine);
    return [mix(solid.x[i], solid.x[i + 1], u / fine), mix(solid.y[j], solid.y[j + 1], v / fine), mix(row(j), row(j + 1), v / fine)];
  };
  for (const [u, v] of projection.order(fine, fine)) {
    const corners = [point(u, v), point(u + 1, v), point(u + 1, v + 1), point(u, v + 1)];
    const ground = rgb(colour(corners.reduce((sum, [, , z]) => sum + z, 0) / 4 / BOX_HEIGHT));
    // The stroke closes the seams between patches.
    polygon(context, corners.map(projection.project), ground, ground, 0.8);
  }
}

// A point without a value gets the mean height of its neighbours.
function guessedHeight(solid, i, j) {
  const around = [[i + 1, j], [i - 1, j], [i, j + 1], [i, j - 1]].map(([a, b]) => solid.z[b] && solid.z[b][a]).filter(Number.isFinite);
  return around.reduce((sum, z) => sum + z, 0) / Math.max(around.length, 1);
}

// Draws another surface as a wireframe on top; parts outside the box are left out.
function drawNet(context, projection, solid, theme) {
  const isInside = ([i, j]) => [solid.x[i], solid.y[j], solid.z[j] && solid.z[j][i] / BOX_HEIGHT].every((v) => v >= -1e-9 && v <= 1 + 1e-9);
  const at = ([i, j]) => projection.project([solid.x[i], solid.y[j], solid.z[j][i]]);
  const places = solid.y.flatMap((_, j) => solid.x.map((_, i) => [i, j]));
  for (const [i, j] of places.filter(isInside)) {
    for (const next of [[i + 1, j], [i, j + 1]].filter(isInside)) stroke(context, lineOf([[i, j], next].map(at)), theme.mark, 1.6);
    const { x, y } = at([i, j]);
    circle(context, [x, y], 2, theme.mark, theme.paper, 0.8);
  }
}

// Draws the axes with the labels that have space.
function drawAxes(context, projection, { axes, theme, size }, room) {
  const taken = [];
  axes.forEach((axis, k) => {
    // Takes the place of a label, unless another has it. Numbers of two axes at a common corner would read as one.
    const take = ([left, top, right, bottom]) => {
      const gap = (t) => (t.k === k ? 0 : 4);
      const isFree = (t) => right + gap(t) < t.left || t.right + gap(t) < left || bottom < t.top || t.bottom < top;
      const free = taken.every(isFree);
      if (free) taken.push({ k, left, top, right, bottom });
      return free;
    };
    // Use the lowest edge for x and y, and the leftmost for z.
    const rank = ([a, b]) => (k === 2 ? a.x + b.x : -(a.y + b.y));
    const [a, b] = projection.outerEdges(k).sort((one, other) => rank(one) - rank(other))[0];
    const long = Math.hypot(b.x - a.x, b.y - a.y);
    if (long < 40) return; // the axis points at the reader
    const away = { x: (a.x + b.x) / 2 - projection.middle[0], y: (a.y + b.y) / 2 - projection.middle[1] };
    let out = k === 2 ? { x: -1, y: 0 } : { x: -(b.y - a.y) / long, y: (b.x - a.x) / long };
    if (out.x * away.x + out.y * away.y < 0) out = { x: -out.x, y: -out.y };
    stroke(context, lineOf([a, b]), theme.ink, 1.3);
    drawTicks(context, axis, [a, b], out, theme, size.width, take);
    // A small screen has room only for the names of x and y; the colour bar shows the name of the height.
    if (size.small && k === 2) return;
    writeTitle(context, size.narrow ? shortTitle(axis) : axis.title, [a, b], out, k === 2, theme, room, take);
  });
}

function drawTicks(context, axis, [a, b], out, theme, width, take) {
  for (const { value, label } of axis.ticks) {
    const share = place(axis, value);
    const at = { x: a.x + share * (b.x - a.x), y: a.y + share * (b.y - a.y) };
    const [w, h] = [widthOf(context, label, TICK_FONT), 13];
    const reach = 10 + (Math.abs(out.x) * w + Math.abs(out.y) * h) / 2;
    const inward = (share > 0.5 ? -1 : 1) / Math.hypot(b.x - a.x, b.y - a.y);
    stroke(context, [[at.x, at.y], [at.x + out.x * 6, at.y + out.y * 6]], theme.ink);
    // Numbers of two axes at a common corner move apart along their edges.
    for (const shift of [0, 4, 8, 12]) {
      const middle = at.x + out.x * reach + shift * inward * (b.x - a.x);
      const [x, y] = [clamp(middle, w / 2 + 1, width - w / 2 - 1), at.y + out.y * reach + shift * inward * (b.y - a.y)];
      if (!take([x - w / 2 - 3, y - h / 2 - 1, x + w / 2 + 3, y + h / 2 + 1])) continue;
      write(context, label, x, y, theme.ink, "center", TICK_FONT);
      break;
    }
  }
}

// Returns the title without its explanation: `L (words)`. The labels of other axes have their units.
function shortTitle(axis) {
  return axis.label.split(" (")[0] + (axis.unit === "words" ? " (words)" : "");
}

// Writes the title of an axis beyond the middle of its edge, as near as the labels allow. The title of the height reads upwards.
function writeTitle(context, words, [a, b], out, upward, theme, [right, bottom], take) {
  const long = widthOf(context, words, TITLE_FONT);
  const [w, h] = upward ? [14, long] : [long, 14];
  const middle = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
  for (let gap = 20; gap < 140; gap += 4) {
    const reach = gap + (Math.abs(out.x) * w + Math.abs(out.y) * h) / 2;
    const x = clamp(middle.x + out.x * reach, w / 2 + 1, right - w / 2 - 1);
    const y = Math.min(middle.y + out.y * reach, bottom - h / 2 - 2);
    if (!take([x - w / 2 - 4, y - h / 2 - 2, x + w / 2 + 4, y + h / 2 + 2])) continue;
    if (upward) writeUpwards(context, words, x, y, theme.ink, TITLE_FONT);
    else write(context, words, x, y, theme.ink, "center", TITLE_FONT);
    return;
  }
}

function drawBar(context, { colours }, axis, theme, [wide, height]) {
  const [left, top, bottom] = [wide + 8, 24, height - 24];
  colourBar(context, colours, { left, top, width: 14, height: bottom - top }, theme.ink);
  const labels = axis.ticks.map(({ value, label }) => [label, bottom - place(axis, value) * (bottom - top)]);
  for (const [, y] of labels) stroke(context, [[left + 14, y], [left + 18, y]], theme.ink);
  writeRows(context, labels, left + 21, theme.ink, "left");
}

function drawFlatBar(context, { colours }, axis, theme, [width, top]) {
  const [left, long] = [14, width - 28];
  write(context, axis.label, left, top + 10, theme.ink, "left", TICK_FONT);
  colourBar(context, colours, { left, top: top + 22, width: long, height: 12 }, theme.ink);
  let free = 0;
  for (const { value, label } of axis.ticks) {
    const x = left + place(axis, value) * long;
    stroke(context, [[x, top + 34], [x, top + 38]], theme.ink);
    const half = widthOf(context, label, TICK_FONT) / 2;
    const middle = clamp(x, half + 1, width - half - 1);
    if (middle - half < free) continue;
    write(context, label, middle, top + 48, theme.ink, "center", TICK_FONT);
    free = middle + half + 8;
  }
}

// Returns the index of the visible point nearest to a place on the canvas; -1 if none is near.
export function pointNear({ points, cells }, x, y) {
  const distances = points.map((point) => Math.hypot(point.x - x, point.y - y));
  const near = distances.map((_, k) => k).filter((k) => distances[k] < 26 && !isHidden(points[k], cells));
  return near.reduce((best, k) => (best < 0 || distances[k] < distances[best] ? k : best), -1);
}

// Returns whether a cell in front covers a point.
function isHidden(point, cells) {
  return cells.some((corners) => {
    if (corners.some((c) => c.i === point.i && c.j === point.j)) return false;
    let inside = false;
    corners.forEach((p, k) => {
      const q = corners[(k + 3) % 4];
      if (p.y > point.y !== q.y > point.y && point.x < ((q.x - p.x) * (point.y - p.y)) / (q.y - p.y) + p.x) inside = !inside;
    });
    return inside && corners.reduce((sum, c) => sum + c.depth, 0) / 4 > point.depth;
  });
}
