// Scales, positions on them, levels of contours, and colours. Scales and levels are those of the figures (src/draw/figure/ticks.rs).

const inner = (scale, value) => (scale.log ? Math.log(value) : value);

// Returns the scale that spans the values; undefined without any.
export function scaleOf(values, log) {
  const known = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
  if (!known.length) return undefined;
  let low = known.reduce((a, b) => Math.min(a, b));
  let high = known.reduce((a, b) => Math.max(a, b));
  // Values that differ only by rounding count as equal.
  if (high - low <= 1e-9 * Math.max(Math.abs(low), Math.abs(high))) {
    const margin = low === 0 ? 1 : Math.abs(low) / 2;
    [low, high] = log ? [low / 2, low * 2] : [low - margin, low + margin];
  }
  return { low, high, log };
}

// Returns the scale widened to a factor of two, so that small differences have similar colours.
export function spanDouble(scale) {
  const { low, high, log } = scale;
  if (!(low > 0) || high >= 2 * low) return scale;
  const middle = Math.sqrt(low * high);
  return { low: middle / Math.SQRT2, high: middle * Math.SQRT2, log };
}

// Returns the position along the scale: 0 at its low end, 1 at its high end.
export function place(scale, value) {
  return (inner(scale, value) - inner(scale, scale.low)) / (inner(scale, scale.high) - inner(scale, scale.low));
}

// Returns the positions of values along an axis, and the limits of their cells midway between them, all from 0 to 1.
export function layOut(numbers, log) {
  const positions = numbers.map((number) => (log ? Math.log(number) : number));
  const last = positions.length - 1;
  const half = (k) => (positions[k + 1] - positions[k]) / 2;
  const [before, after] = last ? [half(0), half(last - 1)] : [0.5, 0.5];
  const limits = [positions[0] - before];
  for (let k = 0; k < last; k++) limits.push(positions[k] + half(k));
  limits.push(positions[last] + after);
  const share = (value) => (value - limits[0]) / (limits[last + 1] - limits[0]);
  return { centres: positions.map(share), limits: limits.map(share) };
}

// Returns multiples of a round step that cover the scale in at most `most` steps.
function linearSteps(scale, most) {
  const raw = (scale.high - scale.low) / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  const ends = (step) => [Math.floor(scale.low / step + 1e-9), Math.ceil(scale.high / step - 1e-9)];
  const times = [1, 2, 5, 10, 20, 50].find((factor) => ends(power * factor)[1] - ends(power * factor)[0] <= most + 1e-9);
  const step = power * (times || 100);
  const [first, last] = ends(step);
  const steps = [];
  for (let k = 0; k <= Math.max(last - first, 1); k++) steps.push((first + k) * step);
  return steps.filter((value, k) => k === 0 || value !== steps[k - 1]);
}

// Returns multiples of every `stride`-th power of ten that cover a log scale.
function logSteps(scale, multiples, stride) {
  const first = Math.floor((Math.floor(Math.log10(scale.low)) - 1) / stride) * stride;
  const last = Math.ceil(Math.log10(scale.high)) + stride;
  const steps = [];
  for (let power = first; power <= last; power += stride) {
    for (const multiple of multiples) steps.push(multiple * 10 ** power);
  }
  const begin = Math.max(steps.findLastIndex((value) => value <= scale.low * (1 + 1e-9)), 0);
  const end = steps.findIndex((value) => value >= scale.high * (1 - 1e-9));
  return steps.slice(begin, end < 0 ? steps.length : end + 1);
}

// Returns round values from the low end of the scale, or below, to its high end, or above.
export function levels(scale) {
  const decades = scale.log ? Math.log10(scale.high / scale.low) : 0;
  if (decades < 0.7) return linearSteps(scale, 10);
  if (decades < 1.6) return logSteps(scale, [1, 1.5, 2, 3, 4, 5, 6, 8], 1);
  if (decades < 4) return logSteps(scale, [1, 2, 5], 1);
  if (decades < 6) return logSteps(scale, [1, 3], 1);
  return logSteps(scale, [1], Math.ceil(decades / 14));
}

// Returns the scale with its ends moved outwards to round values.
export function roundOutwards(scale) {
  const steps = levels(scale);
  return { low: steps[0], high: steps[steps.length - 1], log: scale.log };
}

// Returns the levels within the scale, for the ticks of an axis.
export function ticksOf(scale) {
  return levels(scale).filter((value) => place(scale, value) > -1e-9 && place(scale, value) < 1 + 1e-9);
}

// Returns a function from a share, 0 to 1, to red, green and blue, interpolated between the stops.
export function colourMap(stops) {
  const parsed = stops.map((stop) => [1, 3, 5].map((start) => parseInt(stop.slice(start, start + 2), 16)));
  return (share) => {
    const position = Math.min(Math.max(share, 0), 1) * (parsed.length - 1);
    const low = Math.min(Math.floor(position), parsed.length - 2);
    return parsed[low].map((value, k) => Math.round(value + (position - low) * (parsed[low + 1][k] - value)));
  };
}

// Returns a colour as text for canvases.
export function rgb(colour) {
  return `rgb(${colour.join(",")})`;
}

// Returns black or white, whichever is easier to read on a colour (WCAG relative luminance).
export function readableOn(colour) {
  const linear = (channel) => {
    const c = channel / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  };
  const luminance = 0.2126 * linear(colour[0]) + 0.7152 * linear(colour[1]) + 0.0722 * linear(colour[2]);
  return luminance > 0.18 ? "#000000" : "#ffffff";
}
