// The values of a cell as text: for the readout, the table and screen readers.
import { amount, interval, shortNumber } from "../html/format.mjs";

// Returns the values of all axes: [["L", "64"], ["alpha", "0.1"]]. `at` has an index for each axis.
export function placeOf(kernel, at) {
  return kernel.axes.map((axis, index) => [axis.symbol, axis.names[at[index]]]);
}

export function medianText(summary, unit) {
  return summary ? amount(summary[0], unit) : "not measured";
}

export function intervalText(summary, unit) {
  if (!summary) return "–";
  if (summary.length === 3) return interval(summary[1], summary[2], unit);
  return summary.length === 2 ? `not known: ${summary[1]}` : "none: too few samples";
}

// The words for a fraction of the bound that is above 1 beyond its uncertainty.
export const ABOVE = "above the limit: card is wrong";

function shareOf(kernel, cell) {
  return kernel.share === null ? undefined : cell.summaries[kernel.share];
}

// Returns whether a cell is above its bound beyond its uncertainty.
export function isAbove(kernel, cell) {
  const summary = shareOf(kernel, cell);
  return Boolean(summary) && (summary.length === 3 ? summary[1] : summary[0]) > 1;
}

// Returns `84 % (80 to 88), memory bandwidth`; empty without a card.
export function shareText(kernel, cell) {
  const summary = shareOf(kernel, cell);
  if (!summary) return "";
  const percent = (share) => shortNumber(100 * share);
  const ends = summary.length === 3 ? ` (${percent(summary[1])} to ${percent(summary[2])})` : "";
  return `${percent(summary[0])} %${ends}, ${isAbove(kernel, cell) ? ABOVE : cell.bound_by}`;
}

// Returns what a model predicts at a cell, relative to the measurement, with its terms.
export function termsText(kernel, cell, terms) {
  const index = kernel.quantities.findIndex((quantity) => quantity.name === terms.column);
  const unit = index < 0 ? "" : kernel.quantities[index].unit;
  const measured = index < 0 ? undefined : cell.summaries[index];
  const ratio = measured ? `, measured / predicted ${shortNumber(measured[0] / terms.predicted)}` : "";
  return `predicted ${amount(terms.predicted, unit)}${ratio}${terms.terms ? `; ${terms.terms}` : ""}`;
}

// Returns [part, name, text] for everything known about a cell; `codes` are the names of those in it.
export function readoutOf(kernel, state, at, cell, codes = []) {
  const { unit, label } = kernel.quantities[state.colour];
  const rows = placeOf(kernel, at).map(([symbol, name]) => ["place", symbol, name]);
  if (!cell) return [...rows, ["median", label, "not measured"]];
  const summary = cell.summaries[state.colour];
  rows.push(["median", `${label}, median`, medianText(summary, unit)]);
  rows.push(["interval", "95 % interval", intervalText(summary, unit)]);
  rows.push(["n", "samples", String(cell.n)], ["launches", "launches", String(cell.launches)]);
  if (cell.failed) rows.push(["failed", "failed samples", String(cell.failed)]);
  if (cell.quietness) rows.push(["quietness", "quietness", cell.quietness]);
  const share = shareText(kernel, cell);
  if (share) rows.push(["share", "fraction of the bound", share]);
  if (codes.length) rows.push(["codes", codes.length > 1 ? "codes" : "code", codes.join(", ")]);
  for (const terms of cell.terms || []) rows.push(["terms", terms.model, termsText(kernel, cell, terms)]);
  return rows;
}

// Returns the columns of the table of a map: name, text of a cell, and class.
export function tableColumns(kernel, state) {
  const axes = state.y === null ? [state.x] : [state.x, state.y];
  const { unit } = kernel.quantities[state.colour];
  const columns = [
    ...axes.map((axis) => [kernel.axes[axis].symbol, (cell) => kernel.axes[axis].names[cell.at[axis]], "number"]),
    ["median", (cell) => medianText(cell.summaries[state.colour], unit), "number"],
    ["95 % interval", (cell) => intervalText(cell.summaries[state.colour], unit), "number"],
    ["n", (cell) => String(cell.n), "number"],
    ["launches", (cell) => String(cell.launches), "number"],
  ];
  if (kernel.cells.some((cell) => cell.quietness)) columns.push(["quietness", (cell) => cell.quietness || ""]);
  if (kernel.share !== null) columns.push(["fraction of the bound", (cell) => shareText(kernel, cell)]);
  if (kernel.cells.some((cell) => (cell.terms || []).length)) {
    const terms = (cell) => (cell.terms || []).map((one) => `${one.model}: ${one.terms}`).join("; ");
    columns.push(["terms of the models", terms, "terms"]);
  }
  return columns;
}
