// The cells of one map: those with the chosen values of all other axes, as rows of y and columns of x.

// Returns the axes of slices: all but x and y.
export function sliceAxes(kernel, state) {
  return kernel.axes.map((_, index) => index).filter((index) => index !== state.x && index !== state.y);
}

// Returns for each axis the value with the most cells, the first among equals.
export function commonValues(kernel) {
  return kernel.axes.map((axis, index) => {
    const counts = axis.values.map(() => 0);
    for (const cell of kernel.cells) counts[cell.at[index]] += 1;
    return counts.indexOf(Math.max(...counts));
  });
}

// Returns the map: `columns` and `rows` are indices of values of x and y, `cells[row][column]` a cell, or null where nothing was
// measured. Without y there is one row.
export function gridOf(kernel, state) {
  const fixed = sliceAxes(kernel, state);
  const shown = kernel.cells.filter((cell) => fixed.every((index) => cell.at[index] === state.slices[index]));
  const indices = (axis) => [...new Set(shown.map((cell) => (axis === null ? 0 : cell.at[axis])))].sort((a, b) => a - b);
  const [columns, rows] = [indices(state.x), indices(state.y)];
  const cells = rows.map(() => columns.map(() => null));
  for (const cell of shown) {
    const row = state.y === null ? 0 : rows.indexOf(cell.at[state.y]);
    cells[row][columns.indexOf(cell.at[state.x])] = cell;
  }
  return { columns, rows, cells };
}

// Returns the median of a quantity at a cell; NaN if it has none.
export function medianOf(cell, quantity) {
  const summary = cell && cell.summaries[quantity];
  return summary ? summary[0] : NaN;
}

// Returns all medians of a quantity in a map, row by row.
export function mediansOf(grid, quantity) {
  return grid.cells.flat().map((cell) => medianOf(cell, quantity));
}

// Returns the cell to begin with: the one in the middle, or the first that was measured.
export function firstPlace(grid) {
  const middle = [Math.floor(grid.rows.length / 2), Math.floor(grid.columns.length / 2)];
  if (!grid.rows.length || grid.cells[middle[0]][middle[1]]) return middle;
  const row = grid.cells.findIndex((cells) => cells.some(Boolean));
  return [row, grid.cells[row].findIndex(Boolean)];
}

// Returns the place one step further in a direction, at the edge the same place.
export function step([row, column], key, grid) {
  const moves = {
    ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [1, 0], ArrowDown: [-1, 0],
    Home: [0, -Infinity], End: [0, Infinity], PageUp: [Infinity, 0], PageDown: [-Infinity, 0],
  };
  const move = moves[key];
  if (!move) return undefined;
  const within = (value, count) => Math.min(Math.max(value, 0), count - 1);
  return [within(row + move[0], grid.rows.length), within(column + move[1], grid.columns.length)];
}
