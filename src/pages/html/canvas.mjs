// Parts of drawings on canvases: their size, the colours of the page, lines, texts and colour bars. `page` is that of page.js.

const FONT = "12px system-ui, sans-serif";

// Returns a function that draws with the next frame, once however often it is called before.
export function onFrame(draw) {
  let pending = false;
  return () => {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => {
      pending = false;
      draw();
    });
  };
}

// Sizes a canvas for its height on the page and the density of the screen, and returns its empty context.
export function sizeCanvas(canvas, { width, height }) {
  const density = Math.min(devicePixelRatio || 1, 3);
  canvas.width = Math.round(width * density);
  canvas.height = Math.round(height * density);
  canvas.style.height = height + "px";
  const context = canvas.getContext("2d");
  context.setTransform(density, 0, 0, density, 0, 0);
  return context;
}

// Returns the colours of the page, light or dark. Canvases need plain colours; an element that has `light-dark()` as its colour
// resolves it.
export function themeOf(element) {
  const probe = element.appendChild(page.make("i", { hidden: "" }));
  const colour = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const theme = Object.fromEntries(["ink", "soft", "line", "paper", "panel", "mark", "link"].map((name) => [name, colour(name)]));
  probe.remove();
  return theme;
}

// Draws a line through points.
export function stroke(context, points, colour, width = 1, dashes = []) {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.setLineDash(dashes);
  context.beginPath();
  points.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.stroke();
  context.setLineDash([]);
}

// Draws a circle. Without a colour, it is not filled.
export function circle(context, [x, y], radius, fill, rim, width) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  if (fill) {
    context.fillStyle = fill;
    context.fill();
  }
  context.strokeStyle = rim;
  context.lineWidth = width;
  context.stroke();
}

export function diamond(context, [x, y], radius, fill, rim) {
  context.beginPath();
  for (const [dx, dy] of [[0, -1], [1, 0], [0, 1], [-1, 0]]) context.lineTo(x + dx * radius, y + dy * radius);
  context.closePath();
  context.fillStyle = fill;
  context.fill();
  context.strokeStyle = rim;
  context.lineWidth = 1.5;
  context.stroke();
}

// Draws a diagonal cross.
export function cross(context, [x, y], arm, colour, width) {
  for (const sign of [-1, 1]) stroke(context, [[x - arm, y - arm * sign], [x + arm, y + arm * sign]], colour, width);
}

export function write(context, text, x, y, colour, align = "center", font = FONT) {
  context.font = font;
  context.fillStyle = colour;
  context.textAlign = align;
  context.textBaseline = "middle";
  context.fillText(text, x, y);
}

// Writes a text that reads upwards.
export function writeUpwards(context, text, x, y, colour, font = FONT) {
  context.save();
  context.translate(x, y);
  context.rotate(-Math.PI / 2);
  write(context, text, 0, 0, colour, "center", font);
  context.restore();
}

// Returns the width of a text.
export function widthOf(context, text, font = FONT) {
  context.font = font;
  return context.measureText(text).width;
}

// Writes the labels of an axis along the bottom, as many as fit.
export function writeColumns(context, labels, y, colour, right) {
  const widest = Math.max(...labels.map(([text]) => widthOf(context, text))) + 8;
  let last = -Infinity;
  for (const [text, x] of labels) {
    if (x - last < widest || x + widest / 2 > right + 12) continue;
    write(context, text, x, y, colour);
    last = x;
  }
}

// Writes labels beside a vertical axis, as many as fit, from the bottom up.
export function writeRows(context, labels, x, colour, align = "right") {
  let last = Infinity;
  for (const [text, y] of labels) {
    if (last - y < 16) continue;
    write(context, text, x, y, colour, align);
    last = y;
  }
}

// Draws a bar of the colours, from left to right or from the bottom up.
export function colourBar(context, colours, { left, top, width, height }, ink) {
  const end = width > height ? [left + width, top] : [left, top];
  const begin = width > height ? [left, top] : [left, top + height];
  const gradient = context.createLinearGradient(...begin, ...end);
  colours.forEach((colour, k) => gradient.addColorStop(k / (colours.length - 1), colour));
  context.fillStyle = gradient;
  context.fillRect(left, top, width, height);
  context.strokeStyle = ink;
  context.lineWidth = 1;
  context.strokeRect(left, top, width, height);
}
