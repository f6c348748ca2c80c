// The interactive 3-D surface. Projection and painting order are those of the figures (src/draw/figure/view.rs, surface.rs).
// Back panels are painted first, then the surface, cell by cell from its far corner to the near one.

(function () {
  const BOX_HEIGHT = 0.62; // the floor of the box is 1 by 1
  const STEP = 6; // degrees per key press or click
  const radians = (degrees) => (degrees * Math.PI) / 180;
  const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

  // Formats three significant digits with a prefix: 2.13 GB/s.
  function written(value, unit) {
    const digits = (v) => String(Number(v.toPrecision(3)));
    const scaled = { "B/s": 1, "1/s": 1, s: 1 }[unit];
    if (!scaled) return digits(value) + (unit ? " " + unit : "");
    const prefixes = unit === "s" ? [[1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]]
      : [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
    const [factor, prefix] = prefixes.find(([f]) => Math.abs(value) >= f * 0.9995) || prefixes[prefixes.length - 1];
    return digits(value / factor) + " " + prefix + unit.replace("1/", "/");
  }

  // Ticks at decades, or at 1, 2 and 5 of each if there are few decades; about six round steps on a linear scale.
  function roundTicks(low, high, log, unit) {
    const found = [];
    if (log) {
      const decades = Math.log10(high / low);
      const times = decades < 2.5 ? [1, 2, 5] : [1];
      const every = Math.max(1, Math.ceil(decades / 7));
      for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += every) {
        for (const k of times) found.push(k * 10 ** power);
      }
    } else {
      const raw = (high - low) / 6;
      const ten = 10 ** Math.floor(Math.log10(raw));
      const step = [1, 2, 5, 10].map((k) => k * ten).find((s) => s >= raw);
      for (let k = Math.ceil(low / step); k * step <= high * (1 + 1e-9); k++) found.push(k * step);
    }
    return found.filter((v) => v >= low * (1 - 1e-9) && v <= high * (1 + 1e-9))
      .map((value) => ({ value, label: written(value, unit) }));
  }

  // Returns the position of a value along an axis: 0 at its low end, 1 at its high end.
  function place(axis, value) {
    const inner = (v) => (axis.log ? Math.log(v) : v);
    return (inner(value) - inner(axis.low)) / (inner(axis.high) - inner(axis.low));
  }

  // Returns a function from 0 to 1 to a colour, interpolated between the stops.
  function colourMap(stops) {
    const parsed = stops.map((stop) => [1, 3, 5].map((at) => parseInt(stop.slice(at, at + 2), 16)));
    return (share) => {
      const at = clamp(share, 0, 1) * (parsed.length - 1);
      const low = Math.min(Math.floor(at), parsed.length - 2);
      const mix = (c) => Math.round(parsed[low][c] + (at - low) * (parsed[low + 1][c] - parsed[low][c]));
      return `rgb(${mix(0)},${mix(1)},${mix(2)})`;
    };
  }

  class Viewer {
    constructor(section) {
      this.section = section;
      this.canvas = section.querySelector("canvas");
      this.context = this.canvas.getContext("2d");
      this.surfaces = JSON.parse(section.querySelector("script").textContent).surfaces;
      this.live = section.querySelector(".live");
      this.chosen = 0;
      this.camera = this.home();
      this.net = -1;
      this.common = false;
      this.point = -1;
      this.pending = false;
      this.controls();
      this.pointer();
      this.keys();
      section.hidden = false;
      new ResizeObserver(() => this.redraw()).observe(section);
      document.addEventListener("themechange", () => this.redraw());
      this.draw();
    }

    // ---- what is shown ----

    // Returns the first view of the chosen surface.
    home() {
      const [azimuth, elevation] = this.surfaces[this.chosen].home;
      return { azimuth, elevation, zoom: 1 };
    }

    // Surfaces over the same axes keep the view when the reader changes from one to the other.
    sameAxes(k) {
      const [a, b] = [this.surfaces[this.chosen], this.surfaces[k]];
      return a.x.label === b.x.label && a.y.label === b.y.label;
    }

    name(k) {
      const machines = new Set(this.surfaces.map((surface) => surface.machine));
      const { machine, label } = this.surfaces[k];
      return machines.size > 1 && label ? machine + ": " + label : machines.size > 1 ? machine : label || machine;
    }

    // Surfaces of the same quantity can share a scale and be shown over one another.
    comparable(k) {
      const z = this.surfaces[this.chosen].z;
      return this.sameAxes(k) && this.surfaces[k].z.label === z.label && this.surfaces[k].z.unit === z.unit && this.surfaces[k].z.log === z.log;
    }

    height() {
      const z = this.surfaces[this.chosen].z;
      if (!this.common && this.net < 0) return z;
      const shown = this.surfaces.filter((_, k) => (this.common ? this.comparable(k) : k === this.chosen || k === this.net));
      const [low, high] = [Math.min(...shown.map((s) => s.z.low)), Math.max(...shown.map((s) => s.z.high))];
      return { ...z, low, high, ticks: roundTicks(low, high, z.log, z.unit) };
    }

    controls() {
      const part = (name) => this.section.querySelector(`[data-part="${name}"]`);
      const [surface, net, common] = [part("surface"), part("net"), part("common")];
      this.surfaces.forEach((_, k) => surface.append(page.make("option", { value: k }, this.name(k))));
      const nets = () => {
        net.replaceChildren(page.make("option", { value: -1 }, "none"));
        this.surfaces.forEach((_, k) => {
          if (k !== this.chosen && this.comparable(k)) net.append(page.make("option", { value: k }, this.name(k)));
        });
        if (this.net === this.chosen || (this.net >= 0 && !this.comparable(this.net))) this.net = -1;
        net.value = this.net;
      };
      surface.addEventListener("change", () => {
        const turned = this.sameAxes(Number(surface.value));
        this.chosen = Number(surface.value);
        if (!turned) this.camera = this.home();
        this.point = -1;
        nets();
        this.redraw();
      });
      net.addEventListener("change", () => {
        this.net = Number(net.value);
        this.redraw();
      });
      common.addEventListener("change", () => {
        this.common = common.checked;
        this.redraw();
      });
      nets();
      const several = this.surfaces.length > 1;
      part("net-label").hidden = part("common-label").hidden = !several;
      if (!several) surface.closest("label").hidden = !this.name(0);
      this.section.querySelectorAll("[data-turn]").forEach((button) => {
        button.addEventListener("click", () => this.turn(button.dataset.turn));
      });
    }

    turn(how) {
      const camera = this.camera;
      const turns = {
        left: () => (camera.azimuth += STEP),
        right: () => (camera.azimuth -= STEP),
        up: () => (camera.elevation = Math.min(90, camera.elevation + STEP)),
        down: () => (camera.elevation = Math.max(-90, camera.elevation - STEP)),
        in: () => (camera.zoom = Math.min(8, camera.zoom * 1.15)),
        out: () => (camera.zoom = Math.max(0.4, camera.zoom / 1.15)),
        above: () => Object.assign(camera, { azimuth: -90, elevation: 90 }),
        home: () => Object.assign(camera, this.home()),
      };
      turns[how]();
      this.redraw();
    }

    keys() {
      const known = {
        ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down",
        "+": "in", "=": "in", "-": "out", _: "out", a: "above", A: "above", 0: "home", Home: "home",
      };
      this.canvas.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.altKey || event.metaKey) return;
        const step = { n: 1, N: 1, p: -1, P: -1 }[event.key];
        if (known[event.key]) this.turn(known[event.key]);
        else if (step) this.step(step);
        else if (event.key === "Escape") this.leave();
        else return;
        event.preventDefault();
      });
      this.canvas.addEventListener("blur", () => this.leave());
    }

    pointer() {
      let from = null;
      this.canvas.addEventListener("pointerdown", (event) => {
        from = { x: event.clientX, y: event.clientY, ...this.camera };
        if (event.pointerType === "touch") this.hover(event);
        this.canvas.setPointerCapture(event.pointerId);
        this.canvas.focus({ preventScroll: true });
      });
      this.canvas.addEventListener("pointermove", (event) => {
        if (!from) return this.hover(event);
        if (Math.hypot(event.clientX - from.x, event.clientY - from.y) < 4) return; // not yet a drag
        this.camera.azimuth = from.azimuth - (event.clientX - from.x) * 0.5;
        this.camera.elevation = clamp(from.elevation + (event.clientY - from.y) * 0.5, -90, 90);
        page.hint.hidden = true;
        this.point = -1;
        this.redraw();
      });
      this.canvas.addEventListener("pointerup", () => (from = null));
      // The browser scrolls the page instead: restore the surface.
      this.canvas.addEventListener("pointercancel", () => {
        if (from) Object.assign(this.camera, { azimuth: from.azimuth, elevation: from.elevation });
        from = null;
        this.leave();
        this.redraw();
      });
      // The value under a finger stays visible when it is lifted.
      this.canvas.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && this.leave());
      // The wheel scrolls the page unless the surface has the focus and can still zoom.
      this.canvas.addEventListener("wheel", (event) => {
        if (document.activeElement !== this.canvas) return;
        const zoom = clamp(this.camera.zoom * Math.exp(-event.deltaY / 600), 0.4, 8);
        if (zoom === this.camera.zoom) return;
        event.preventDefault();
        this.camera.zoom = zoom;
        this.redraw();
      }, { passive: false });
    }

    // ---- values ----

    hover(event) {
      const box = this.canvas.getBoundingClientRect();
      const [x, y] = [event.clientX - box.left, event.clientY - box.top];
      const near = this.points.map((point, k) => ({ k, point, distance: Math.hypot(point.x - x, point.y - y) }))
        .filter((one) => one.distance < 26 && !this.hidden(one.point));
      near.sort((a, b) => a.distance - b.distance);
      if (near.length) this.tell(near[0].k);
      else this.leave();
    }

    // Returns whether a cell in front covers a point.
    hidden(point) {
      return this.cells.some((cell) => {
        if (cell.corners.some((c) => c.i === point.i && c.j === point.j)) return false;
        let inside = false;
        const corners = cell.corners;
        for (let a = 0, b = corners.length - 1; a < corners.length; b = a++) {
          const [p, q] = [corners[a], corners[b]];
          if (p.y > point.y !== q.y > point.y && point.x < ((q.x - p.x) * (point.y - p.y)) / (q.y - p.y) + p.x) inside = !inside;
        }
        return inside && corners.reduce((sum, c) => sum + c.depth, 0) / corners.length > point.depth;
      });
    }

    values(k) {
      const surface = this.surfaces[this.chosen];
      const { i, j, value } = this.points[k];
      const short = (axis) => axis.label.split(" (")[0];
      const pairs = [
        [short(surface.x), surface.x.names[i]],
        [short(surface.y), surface.y.names[j]],
        [surface.z.label, value === null ? "failed" : written(value, surface.z.unit)],
      ];
      const other = this.surfaces[this.net];
      if (other) {
        const same = (axis, wanted) => axis.values.findIndex((v) => Math.abs(v / wanted - 1) < 1e-9);
        const [column, row] = [same(other.x, surface.x.values[i]), same(other.y, surface.y.values[j])];
        const there = column >= 0 && row >= 0 ? other.values[row][column] : null;
        if (there !== null && value !== null) {
          pairs.push([this.name(this.net), `${written(there, other.z.unit)} (${Number((there / value).toPrecision(3))} times)`]);
        }
      }
      return pairs;
    }

    tell(k) {
      this.point = k;
      this.draw();
      const { x, y } = this.points[k];
      const box = this.canvas.getBoundingClientRect();
      page.showHint(box.left + x, box.top + y, this.values(k));
      return this.values(k);
    }

    step(by) {
      const count = this.points.length;
      if (!count) return;
      const next = this.point < 0 ? (by > 0 ? 0 : count - 1) : (this.point + by + count) % count;
      this.live.textContent = this.tell(next).map(([name, value]) => name + " " + value).join(", ");
    }

    leave() {
      page.hint.hidden = true;
      if (this.point >= 0) {
        this.point = -1;
        this.redraw();
      }
    }

    // ---- drawing ----

    redraw() {
      if (this.pending) return;
      this.pending = true;
      requestAnimationFrame(() => {
        this.pending = false;
        this.draw();
      });
    }

    project([x, y, z]) {
      const [a, e] = [radians(this.camera.azimuth), radians(this.camera.elevation)];
      const [cx, cy, cz] = [x - 0.5, y - 0.5, z - BOX_HEIGHT / 2];
      const away = cx * Math.cos(a) + cy * Math.sin(a);
      const right = cy * Math.cos(a) - cx * Math.sin(a);
      const up = cz * Math.cos(e) - away * Math.sin(e);
      return {
        x: this.middle[0] + right * this.scale,
        y: this.middle[1] - up * this.scale,
        depth: away * Math.cos(e) + cz * Math.sin(e),
      };
    }

    // Returns the unit vector towards the reader.
    towards() {
      const [a, e] = [radians(this.camera.azimuth), radians(this.camera.elevation)];
      return [Math.cos(e) * Math.cos(a), Math.cos(e) * Math.sin(a), Math.sin(e)];
    }

    facing(axis, high) {
      return this.towards()[axis] > 1e-9 === high;
    }

    // Returns the cells of a grid from far to near, so that no cell is hidden by an earlier one.
    order(width, height) {
      const [tx, ty] = this.towards();
      const from = (n, towards) => Array.from({ length: n }, (_, k) => (towards >= 0 ? k : n - 1 - k));
      return from(width, tx).flatMap((i) => from(height, ty).map((j) => [i, j]));
    }

    // Returns the colours of the page, light or dark.
    inks() {
      const probe = this.probe || (this.probe = this.section.appendChild(page.make("i", { hidden: "" })));
      const of = (name) => {
        probe.style.color = `var(--${name})`;
        return getComputedStyle(probe).color;
      };
      return { ink: of("ink"), soft: of("soft"), line: of("line"), panel: of("panel"), ground: of("paper"), mark: of("mark") };
    }

    draw() {
      const surface = this.surfaces[this.chosen];
      const context = this.context;
      const width = Math.max(this.canvas.clientWidth, 200);
      this.small = width < 560;
      this.narrow = width < 800;
      const height = Math.round(this.small ? clamp(width * 1.05, 320, 480) : clamp(width * 0.62, 300, 600));
      const fine = Math.min(devicePixelRatio || 1, 3);
      if (this.canvas.width !== Math.round(width * fine) || this.canvas.height !== Math.round(height * fine)) {
        this.canvas.width = Math.round(width * fine);
        this.canvas.height = Math.round(height * fine);
        this.canvas.style.height = height + "px";
      }
      context.setTransform(fine, 0, 0, fine, 0, 0);
      this.ink = this.inks();
      context.fillStyle = this.ink.ground;
      context.fillRect(0, 0, width, height);
      // The colour bar is at the right. On a small screen it is below, so that the surface has the full width.
      const [wide, high] = this.small ? [width, height - 62] : [width - 104, height];
      this.middle = [wide / 2 + (this.small ? 28 : 34), high / 2 - 12];
      [this.edge, this.floor] = [wide, high];
      this.scale = Math.min(wide * (this.small ? 0.53 : 0.6), high * (this.narrow && !this.small ? 0.7 : 0.76)) * this.camera.zoom;
      this.z = this.height();
      const axes = [surface.x, surface.y, this.z];
      const solid = this.solid(surface);
      context.save();
      context.beginPath();
      context.rect(0, 0, wide, high);
      context.clip();
      this.panels(axes);
      this.paint(solid, colourMap(surface.colours));
      if (this.net >= 0) this.paintNet(this.solid(this.surfaces[this.net]));
      this.labels(axes);
      this.paintPoint();
      context.restore();
      if (this.small) this.paintFlatBar(width, high, colourMap(surface.colours));
      else this.paintBar(wide, height, colourMap(surface.colours));
      this.report();
    }

    // Describes the picture for screen readers and tests.
    report() {
      const { azimuth, elevation, zoom } = this.camera;
      const data = this.section.dataset;
      const round = (v) => String(Math.round(v * 10) / 10);
      [data.azimuth, data.elevation, data.zoom] = [round(azimuth), round(elevation), zoom.toFixed(2)];
      [data.surface, data.net, data.cells] = [this.chosen, this.net, this.cells.length];
      [data.low, data.high] = [this.z.low, this.z.high];
      const surface = this.surfaces[this.chosen];
      this.canvas.setAttribute("aria-label",
        `${this.name(this.chosen)}: ${surface.z.label} over ${surface.x.label} and ${surface.y.label}, ` +
        `seen from ${round(elevation)} degrees above. N steps through its points.`);
    }

    // Converts the data to positions in the box, on the axes of the chosen surface.
    solid(surface) {
      const { x, y } = this.surfaces[this.chosen];
      const height = (value) => (value === null ? NaN : place(this.z, value) * BOX_HEIGHT);
      return {
        x: surface.x.values.map((value) => place(x, value)),
        y: surface.y.values.map((value) => place(y, value)),
        z: surface.values.map((row) => row.map(height)),
        values: surface.values,
        failed: surface.failed,
      };
    }

    polygon(points, fill, stroke, wide = 1) {
      const context = this.context;
      context.beginPath();
      points.forEach((p, k) => (k ? context.lineTo(p.x, p.y) : context.moveTo(p.x, p.y)));
      context.closePath();
      if (fill) {
        context.fillStyle = fill;
        context.fill();
      }
      if (stroke) {
        context.strokeStyle = stroke;
        context.lineWidth = wide;
        context.stroke();
      }
    }

    line(points, colour, wide) {
      const context = this.context;
      context.beginPath();
      points.forEach((p, k) => (k ? context.lineTo(p.x, p.y) : context.moveTo(p.x, p.y)));
      context.strokeStyle = colour;
      context.lineWidth = wide;
      context.stroke();
    }

    dot(at, radius, fill, rim) {
      const context = this.context;
      context.beginPath();
      context.arc(at.x, at.y, radius, 0, 2 * Math.PI);
      context.fillStyle = fill;
      context.fill();
      context.strokeStyle = rim;
      context.lineWidth = 0.8;
      context.stroke();
    }

    // Draws the three sides of the box behind the surface, with lines at the ticks.
    panels(axes) {
      const size = [1, 1, BOX_HEIGHT];
      for (let axis = 0; axis < 3; axis++) {
        const high = !this.facing(axis, true);
        const [p, q] = [(axis + 1) % 3, (axis + 2) % 3];
        const point = (atP, atQ) => {
          const at = [0, 0, 0];
          at[axis] = high ? size[axis] : 0;
          at[p] = atP * size[p];
          at[q] = atQ * size[q];
          return this.project(at);
        };
        this.polygon([point(0, 0), point(1, 0), point(1, 1), point(0, 1)], this.ink.panel, this.ink.soft, 0.8);
        for (const { value } of axes[p].ticks) this.line([point(place(axes[p], value), 0), point(place(axes[p], value), 1)], this.ink.line, 1);
        for (const { value } of axes[q].ticks) this.line([point(0, place(axes[q], value)), point(1, place(axes[q], value))], this.ink.line, 1);
      }
    }

    paint(solid, colour) {
      const [columns, rows] = [solid.x.length, solid.y.length];
      this.points = [];
      this.cells = [];
      const at = (i, j) => ({ ...this.project([solid.x[i], solid.y[j], solid.z[j][i]]), i, j, value: solid.values[j][i] });
      const known = (i, j) => Number.isFinite(solid.z[j][i]);
      // Use few patches for small cells; their colours still look smooth.
      const fine = clamp(Math.round(Math.sqrt(5000 / ((columns - 1) * (rows - 1)))), 1, 8);
      for (const [i, j] of this.order(columns - 1, rows - 1)) {
        const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]];
        if (corners.every(([a, b]) => known(a, b))) {
          this.cell(solid, i, j, fine, colour);
          this.cells.push({ corners: corners.map(([a, b]) => at(a, b)) });
        }
        corners.forEach((corner, k) => {
          const next = corners[(k + 1) % 4];
          if (known(...corner) && known(...next)) this.line([at(...corner), at(...next)], "rgba(30,30,30,.75)", 0.8);
        });
        for (const corner of corners) if (known(...corner)) this.dot(at(...corner), 2, "#222", "#fff");
        for (const [a, b] of corners) if (solid.failed.some(([row, column]) => row === b && column === a)) this.cross(solid, a, b);
      }
      for (let j = 0; j < rows; j++) {
        for (let i = 0; i < columns; i++) if (known(i, j)) this.points.push(at(i, j));
      }
      for (const [j, i] of solid.failed) {
        this.points.push({ ...this.project([solid.x[i], solid.y[j], this.guessed(solid, i, j)]), i, j, value: null });
      }
    }

    // Paints one cell as bilinear patches, the far ones first.
    cell(solid, i, j, fine, colour) {
      const mix = (a, b, t) => a + t * (b - a);
      const point = (u, v) => {
        const row = (k) => mix(solid.z[k][i], solid.z[k][i + 1], u / fine);
        return [mix(solid.x[i], solid.x[i + 1], u / fine), mix(solid.y[j], solid.y[j + 1], v / fine), mix(row(j), row(j + 1), v / fine)];
      };
      for (const [u, v] of this.order(fine, fine)) {
        const corners = [point(u, v), point(u + 1, v), point(u + 1, v + 1), point(u, v + 1)];
        const share = corners.reduce((sum, c) => sum + c[2], 0) / 4 / BOX_HEIGHT;
        // The stroke closes the seams between patches.
        this.polygon(corners.map((c) => this.project(c)), colour(share), colour(share), 0.8);
      }
    }

    // A point without a value gets the mean height of its neighbours.
    guessed(solid, i, j) {
      const around = [[i + 1, j], [i - 1, j], [i, j + 1], [i, j - 1]].map(([a, b]) => solid.z[b] && solid.z[b][a]).filter(Number.isFinite);
      return around.reduce((sum, z) => sum + z, 0) / Math.max(around.length, 1);
    }

    cross(solid, i, j) {
      const { x, y } = this.project([solid.x[i], solid.y[j], this.guessed(solid, i, j)]);
      for (const [arm, colour, wide] of [[5, "#fff", 4], [4, "#c81e1e", 2]]) {
        this.line([{ x: x - arm, y: y - arm }, { x: x + arm, y: y + arm }], colour, wide);
        this.line([{ x: x - arm, y: y + arm }, { x: x + arm, y: y - arm }], colour, wide);
      }
    }

    // Draws another surface as a wireframe on top; parts outside the box are left out.
    paintNet(solid) {
      const inside = (i, j) => [solid.x[i], solid.y[j], solid.z[j][i] / BOX_HEIGHT].every((v) => v >= -1e-9 && v <= 1 + 1e-9);
      const at = (i, j) => this.project([solid.x[i], solid.y[j], solid.z[j][i]]);
      for (let j = 0; j < solid.y.length; j++) {
        for (let i = 0; i < solid.x.length; i++) {
          if (!inside(i, j)) continue;
          if (i + 1 < solid.x.length && inside(i + 1, j)) this.line([at(i, j), at(i + 1, j)], this.ink.mark, 1.6);
          if (j + 1 < solid.y.length && inside(i, j + 1)) this.line([at(i, j), at(i, j + 1)], this.ink.mark, 1.6);
          this.dot(at(i, j), 2, this.ink.mark, this.ink.ground);
        }
      }
    }

    paintPoint() {
      const point = this.points[this.point];
      if (!point) return;
      this.context.beginPath();
      this.context.arc(point.x, point.y, 7, 0, 2 * Math.PI);
      this.context.strokeStyle = this.ink.mark;
      this.context.lineWidth = 2.5;
      this.context.stroke();
    }

    text(words, x, y, align, colour = this.ink.ink, size = 13) {
      const context = this.context;
      context.font = `${size}px system-ui, sans-serif`;
      context.fillStyle = colour;
      context.textAlign = align;
      context.textBaseline = "middle";
      context.fillText(words, x, y);
      return context.measureText(words).width;
    }

    // Returns the two box edges along an axis between a visible and a hidden face. Labels outside these edges never cover the
    // box.
    outerEdges(axis) {
      const [p, q] = [(axis + 1) % 3, (axis + 2) % 3];
      const size = [1, 1, BOX_HEIGHT];
      const edges = [];
      for (const [highP, highQ] of [[false, false], [false, true], [true, false], [true, true]]) {
        if (this.facing(p, highP) === this.facing(q, highQ)) continue;
        const start = [0, 0, 0];
        start[p] = highP ? size[p] : 0;
        start[q] = highQ ? size[q] : 0;
        const end = [...start];
        end[axis] = size[axis];
        edges.push([start, end]);
      }
      return edges;
    }

    labels(axes) {
      const taken = [];
      const free = (box) => taken.every((t) => box[2] < t[0] || t[2] < box[0] || box[3] < t[1] || t[3] < box[1]);
      axes.forEach((axis, k) => {
        const ends = this.outerEdges(k).map((edge) => edge.map((p) => this.project(p)));
        // Use the lowest edge for x and y, and the leftmost for z.
        const rank = ([a, b]) => (k === 2 ? a.x + b.x : -(a.y + b.y));
        const edges = this.outerEdges(k).map((edge, n) => ({ edge, ends: ends[n] })).sort((a, b) => rank(a.ends) - rank(b.ends));
        const { edge: [start], ends: [a, b] } = edges[0];
        const long = Math.hypot(b.x - a.x, b.y - a.y);
        if (long < 40) return; // the axis points at the reader
        const centre = { x: this.middle[0], y: this.middle[1] };
        const away = { x: (a.x + b.x) / 2 - centre.x, y: (a.y + b.y) / 2 - centre.y };
        let out = k === 2 ? { x: -1, y: 0 } : { x: -(b.y - a.y) / long, y: (b.x - a.x) / long };
        if (out.x * away.x + out.y * away.y < 0) out = { x: -out.x, y: -out.y };
        this.line([a, b], this.ink.ink, 1.3);
        const size = 13;
        let widest = 0;
        for (const { value, label } of axis.ticks) {
          const share = place(axis, value);
          const at = { x: a.x + share * (b.x - a.x), y: a.y + share * (b.y - a.y) };
          this.context.font = `${size}px system-ui, sans-serif`;
          const wide = this.context.measureText(label).width;
          const reach = 10 + (Math.abs(out.x) * wide) / 2 + (Math.abs(out.y) * size) / 2;
          const most = this.canvas.clientWidth - wide / 2 - 1;
          const [x, y] = [clamp(at.x + out.x * reach, wide / 2 + 1, most), at.y + out.y * reach];
          const box = [x - wide / 2 - 3, y - size / 2 - 1, x + wide / 2 + 3, y + size / 2 + 1];
          this.line([at, { x: at.x + out.x * 6, y: at.y + out.y * 6 }], this.ink.ink, 1);
          if (!free(box)) continue;
          taken.push(box);
          this.text(label, x, y, "center", this.ink.ink, size);
          widest = Math.max(widest, wide);
        }
        // A small screen has room only for the names of x and y; the colour bar shows the name of the height.
        if (this.small && k === 2) return;
        const title = this.narrow ? axis.label.split(" (")[0] : axis.title;
        this.title(title, a, b, out, widest, k === 2, taken, free);
      });
    }

    // Draws the title beyond the middle of its edge, as near as the labels allow. The title of the height reads upwards.
    title(words, a, b, out, widest, upward, taken, free) {
      const context = this.context;
      const size = 14;
      context.font = `600 ${size}px system-ui, sans-serif`;
      const wide = context.measureText(words).width;
      const [w, h] = upward ? [size, wide] : [wide, size];
      const middle = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
      for (let gap = 20; gap < 140; gap += 4) {
        const reach = gap + (Math.abs(out.x) * w) / 2 + (Math.abs(out.y) * h) / 2;
        const x = clamp(middle.x + out.x * reach, w / 2 + 1, this.edge - w / 2 - 1);
        const y = Math.min(middle.y + out.y * reach, this.floor - h / 2 - 2);
        const box = [x - w / 2 - 4, y - h / 2 - 2, x + w / 2 + 4, y + h / 2 + 2];
        if (!free(box)) continue;
        taken.push(box);
        context.save();
        context.translate(x, y);
        if (upward) context.rotate(-Math.PI / 2);
        context.fillStyle = this.ink.ink;
        context.textAlign = "center";
        context.textBaseline = "middle";
        context.fillText(words, 0, 0);
        context.restore();
        return;
      }
    }

    paintBar(left, height, colour) {
      const context = this.context;
      const [top, bottom] = [24, height - 24];
      context.fillStyle = this.ink.ground;
      context.fillRect(left, 0, 400, height);
      const steps = 160;
      for (let k = 0; k < steps; k++) {
        context.fillStyle = colour((k + 0.5) / steps);
        const y = bottom - ((k + 1) / steps) * (bottom - top);
        context.fillRect(left + 8, y, 14, (bottom - top) / steps + 0.6);
      }
      context.strokeStyle = this.ink.ink;
      context.lineWidth = 1;
      context.strokeRect(left + 8, top, 14, bottom - top);
      for (const { value, label } of this.z.ticks) {
        const y = bottom - place(this.z, value) * (bottom - top);
        this.line([{ x: left + 22, y }, { x: left + 26, y }], this.ink.ink, 1);
        this.text(label, left + 29, y, "left", this.ink.ink, 12);
      }
    }

    paintFlatBar(width, top, colour) {
      const context = this.context;
      const [left, long, thick] = [14, width - 28, 12];
      this.text(this.z.label, left, top + 10, "left", this.ink.ink, 13);
      const steps = 160;
      for (let k = 0; k < steps; k++) {
        context.fillStyle = colour((k + 0.5) / steps);
        context.fillRect(left + (k / steps) * long, top + 22, long / steps + 0.6, thick);
      }
      context.strokeStyle = this.ink.ink;
      context.lineWidth = 1;
      context.strokeRect(left, top + 22, long, thick);
      let free = 0;
      for (const { value, label } of this.z.ticks) {
        const x = left + place(this.z, value) * long;
        this.line([{ x, y: top + 34 }, { x, y: top + 38 }], this.ink.ink, 1);
        const half = context.measureText(label).width / 2;
        const middle = clamp(x, half + 1, width - half - 1);
        if (middle - half < free) continue;
        this.text(label, middle, top + 48, "center");
        free = middle + half + 8;
      }
    }
  }

  document.querySelectorAll("section.viewer").forEach((section) => new Viewer(section));
})();
