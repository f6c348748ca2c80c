// The projection of the box around a surface, as in the figures (src/draw/figure/view.rs).

export const BOX_HEIGHT = 0.62; // the floor of the box is 1 by 1
const SIZE = [1, 1, BOX_HEIGHT];

// Returns the projection for a camera. The middle of the box is at a point of the canvas; `scale` is the length of the floor in pixels.
export function projectionOf({ azimuth, elevation }, scale, middle) {
  const [a, e] = [azimuth, elevation].map((degrees) => (degrees * Math.PI) / 180);
  // The unit vector towards the reader.
  const towards = [Math.cos(e) * Math.cos(a), Math.cos(e) * Math.sin(a), Math.sin(e)];
  const project = ([x, y, z]) => {
    const [cx, cy, cz] = [x - 0.5, y - 0.5, z - BOX_HEIGHT / 2];
    const away = cx * Math.cos(a) + cy * Math.sin(a);
    const right = cy * Math.cos(a) - cx * Math.sin(a);
    const up = cz * Math.cos(e) - away * Math.sin(e);
    return { x: middle[0] + right * scale, y: middle[1] - up * scale, depth: away * Math.cos(e) + cz * Math.sin(e) };
  };
  const facing = (axis, high) => towards[axis] > 1e-9 === high;
  const indices = (count, direction) => Array.from({ length: count }, (_, k) => (direction >= 0 ? k : count - 1 - k));
  return {
    middle, project,
    // Returns the cells of a grid from far to near, so that no cell is hidden by an earlier one.
    order: (width, height) => indices(width, towards[0]).flatMap((i) => indices(height, towards[1]).map((j) => [i, j])),
    // Returns the three sides behind the surface: their two axes, and a function that projects shares along them.
    backSides: () => [0, 1, 2].map((axis) => {
      const [p, q] = [(axis + 1) % 3, (axis + 2) % 3];
      const at = [0, 0, 0];
      at[axis] = facing(axis, true) ? 0 : SIZE[axis];
      return { p, q, point: (shareP, shareQ) => project(at.with(p, shareP * SIZE[p]).with(q, shareQ * SIZE[q])) };
    }),
    // Returns the two box edges along an axis between a visible and a hidden face, as projected ends. Labels outside these edges never
    // cover the box.
    outerEdges(axis) {
      const [p, q] = [(axis + 1) % 3, (axis + 2) % 3];
      const corners = [[false, false], [false, true], [true, false], [true, true]];
      return corners.filter(([highP, highQ]) => facing(p, highP) !== facing(q, highQ)).map(([highP, highQ]) => {
        const start = [0, 0, 0].with(p, highP ? SIZE[p] : 0).with(q, highQ ? SIZE[q] : 0);
        return [start, start.with(axis, SIZE[axis])].map(project);
      });
    },
  };
}
