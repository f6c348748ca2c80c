// Lines of equal value by d3-contour, in the coordinates of the grid: column and row, from 0.

// Returns the lines where `values[row][column]` reach a level, as lists of points. NaN is a gap; a square of four neighbours with
// a gap has no line.
export function isoLines(values, level) {
  const [width, height] = [values[0].length, values.length];
  if (width < 2 || height < 2) return [];
  // Without smoothing, the points of a ring are in the middle between two neighbours, so each piece belongs to one square.
  const shape = globalThis.d3.contours().size([width, height]).smooth(false).contour(values.flat(), level);
  const lines = [];
  for (const ring of shape.coordinates.flat()) {
    let line = null;
    for (let k = 0; k + 1 < ring.length; k++) {
      // d3 puts the first value at 0.5.
      const [from, to] = [ring[k], ring[k + 1]].map(([x, y]) => [x - 0.5, y - 0.5]);
      if (!isKnown(values, Math.floor((from[0] + to[0]) / 2), Math.floor((from[1] + to[1]) / 2))) {
        line = null;
      } else if (line) {
        line.push(crossing(values, to, level));
      } else {
        lines.push((line = [crossing(values, from, level), crossing(values, to, level)]));
      }
    }
  }
  return lines;
}

// Returns whether the four corners of a square are known. d3 closes its rings outside the grid and around gaps.
function isKnown(values, column, row) {
  if (column < 0 || row < 0 || column + 1 >= values[0].length || row + 1 >= values.length) return false;
  return [row, row + 1].every((j) => [column, column + 1].every((i) => Number.isFinite(values[j][i])));
}

// Moves the middle of an edge to the point where the value, linear along the edge, is the level.
function crossing(values, [x, y], level) {
  const [column, row] = [Math.floor(x), Math.floor(y)];
  const [right, up] = [Math.ceil(x), Math.ceil(y)];
  const share = (level - values[row][column]) / (values[up][right] - values[row][column]);
  return [column + share * (right - column), row + share * (up - row)];
}

// Returns a function from grid coordinates to positions along an axis.
export function interpolator(centres) {
  return (index) => {
    const low = Math.min(Math.floor(index), centres.length - 2);
    return centres[low] + (index - low) * (centres[low + 1] - centres[low]);
  };
}
