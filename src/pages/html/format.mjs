// Formats numbers as the crate does (src/base/units.rs), so that the panel and `apexmap query` show the same text.

// Formats with this number of decimals. Ties are rounded to even, as in Rust; toFixed rounds them up.
function fixed(value, decimals) {
  const text = value.toFixed(decimals);
  const exact = value.toFixed(100);
  const end = exact.length - 100 + decimals;
  if (!/^50*$/.test(exact.slice(end))) return text;
  const last = exact.slice(0, end).replace(/\.$/, "");
  return Number(last[last.length - 1]) % 2 === 0 ? last : text;
}

function exponential(value, digits) {
  return value.toExponential(digits).replace("e+", "e");
}

export function shortNumber(value) {
  if (!Number.isFinite(value)) return "-";
  if (value === 0) return "0";
  const order = Math.floor(Math.log10(Math.abs(value)));
  if (order < -4 || order > 6) return exponential(value, 2);
  const text = fixed(value, Math.max(2 - order, 0));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function withPrefix(value, base, prefixes) {
  let index = 0;
  // As rounded in the text: 999.99 M is 1 G.
  while (Math.round(Math.abs(value)) >= base && index + 1 < prefixes.length) {
    value /= base;
    index += 1;
  }
  return `${shortNumber(value)} ${prefixes[index]}`.trimEnd();
}

function seconds(value) {
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return "-";
  if (size === 0) return "0 s";
  if (size < 1e-6) return shortNumber(value * 1e9) + " ns";
  if (size < 1e-3) return shortNumber(value * 1e6) + " us";
  if (size < 1) return shortNumber(value * 1e3) + " ms";
  if (size < 120) return shortNumber(value) + " s";
  if (size < 7200) return shortNumber(value / 60) + " min";
  return shortNumber(value / 3600) + " h";
}

function quantity(value, unit) {
  if (unit === "GUPS") return shortNumber(value / 1e9) + " GUPS";
  const text = withPrefix(value, 1000, ["", "k", "M", "G", "T", "P"]);
  const gap = text.includes(" ") || unit.startsWith("1") ? "" : " ";
  return (text + gap + unit.replace(/^1+/, "")).trimEnd();
}

// Formats a value with its unit.
export function amount(value, unit) {
  if (unit === "s") return seconds(value);
  if (unit === "B") return withPrefix(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
  if (unit === "words") return withPrefix(value, 1024, ["words", "kwords", "Mwords", "Gwords", "Twords"]);
  if (unit === "s/B") return seconds(value) + "/B";
  if (unit === "") return shortNumber(value);
  return quantity(value, unit);
}

// Formats an interval, with one unit if both ends have the same.
export function interval(low, high, unit) {
  const [first, second] = [amount(low, unit), amount(high, unit)];
  const [number, firstUnit] = first.split(/ (.*)/);
  const secondUnit = second.split(/ (.*)/)[1];
  return firstUnit && firstUnit === secondUnit ? `${number} to ${second}` : `${first} to ${second}`;
}
