// The state of the panel and its form in the address: #explorer?kernel=...&x=L&y=alpha&colour=...&at.P=2&pin=64,0.1
// The address has names and values, not indices, so that it stays valid when the result grows.
import { commonValues, sliceAxes } from "./grid.mjs";

const START = "#explorer?";

// Returns the state that shows a kernel first.
export function initialState(data, kernelIndex = 0) {
  const kernel = data.kernels[kernelIndex];
  return { kernel: kernelIndex, x: kernel.x, y: kernel.y, colour: 0, slices: commonValues(kernel), pin: null };
}

export function toAddress(data, state) {
  const kernel = data.kernels[state.kernel];
  const valueOf = (axis, index) => kernel.axes[axis].values[index];
  const words = new URLSearchParams({ kernel: kernel.kernel, x: kernel.axes[state.x].symbol });
  if (state.y !== null) words.set("y", kernel.axes[state.y].symbol);
  words.set("colour", kernel.quantities[state.colour].name);
  for (const axis of sliceAxes(kernel, state)) words.set("at." + kernel.axes[axis].symbol, valueOf(axis, state.slices[axis]));
  if (state.pin) {
    const axes = state.y === null ? [state.x] : [state.x, state.y];
    words.set("pin", axes.map((axis) => valueOf(axis, state.pin[axis])).join(","));
  }
  return START + words;
}

// Returns the state in an address; null if the address has none. Names and values that the result does not have keep their
// defaults.
export function fromAddress(data, address) {
  if (!address.startsWith(START)) return null;
  const words = new URLSearchParams(address.slice(START.length));
  const state = initialState(data, Math.max(data.kernels.findIndex((kernel) => kernel.kernel === words.get("kernel")), 0));
  const kernel = data.kernels[state.kernel];
  const axisOf = (word) => kernel.axes.findIndex((axis) => axis.numeric && axis.symbol === words.get(word));
  const [x, y] = [axisOf("x"), axisOf("y")];
  if (x >= 0) chooseAxis(kernel, state, "x", x);
  if (y >= 0 && y !== state.x) state.y = y;
  state.colour = Math.max(kernel.quantities.findIndex((quantity) => quantity.name === words.get("colour")), 0);
  for (const axis of sliceAxes(kernel, state)) {
    const index = kernel.axes[axis].values.indexOf(words.get("at." + kernel.axes[axis].symbol));
    if (index >= 0) state.slices[axis] = index;
  }
  state.pin = pinFrom(kernel, state, words.get("pin"));
  return state;
}

function pinFrom(kernel, state, text) {
  if (!text) return null;
  const axes = state.y === null ? [state.x] : [state.x, state.y];
  const values = text.split(",");
  const pin = {};
  for (const [k, axis] of axes.entries()) pin[axis] = kernel.axes[axis].values.indexOf(values[k]);
  return Object.values(pin).every((index) => index >= 0) ? pin : null;
}

// Puts an axis at x or y. If it is at the other, the two change places.
export function chooseAxis(kernel, state, side, axis) {
  const other = side === "x" ? "y" : "x";
  if (state[other] === axis) state[other] = state[side];
  state[side] = axis;
  state.pin = null;
}
