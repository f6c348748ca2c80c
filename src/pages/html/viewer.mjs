// The interactive 3-D surface: its controls, and the values under the pointer. `page` is that of page.js.
import { amount, shortNumber } from "./format.mjs";
import { ticksOf } from "./scale.mjs";
import { onFrame, sizeCanvas, themeOf } from "./canvas.mjs";
import { clamp, drawSurface, pointNear } from "./surface.mjs";

const STEP = 6; // degrees per key press or click
const KEYS = {
  ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down",
  "+": "in", "=": "in", "-": "out", _: "out", a: "above", A: "above", 0: "home", Home: "home",
};

class Viewer {
  constructor(section) {
    this.section = section;
    this.canvas = section.querySelector("canvas");
    this.surfaces = JSON.parse(section.querySelector("script").textContent).surfaces;
    this.live = section.querySelector(".live");
    this.chosen = 0;
    this.camera = this.home();
    this.net = -1;
    this.common = false;
    this.point = -1;
    this.redraw = onFrame(() => this.draw());
    this.controls();
    this.pointer();
    this.keys();
    section.hidden = false;
    new ResizeObserver(() => this.redraw()).observe(section);
    document.addEventListener("themechange", () => this.redraw());
    this.draw();
  }

  get surface() {
    return this.surfaces[this.chosen];
  }

  // ---- what is shown ----

  // Returns the first view of the chosen surface.
  home() {
    const [azimuth, elevation] = this.surface.home;
    return { azimuth, elevation, zoom: 1 };
  }

  // Surfaces over the same axes keep the view when the reader changes from one to the other.
  sameAxes({ x, y }) {
    return this.surface.x.label === x.label && this.surface.y.label === y.label;
  }

  name({ machine, label }) {
    const isOneOfMany = this.surfaces.some((other) => other.machine !== machine);
    if (!isOneOfMany) return label || machine;
    return label ? machine + ": " + label : machine;
  }

  // Surfaces of the same quantity can share a scale and be shown over one another.
  comparable(other) {
    return this.sameAxes(other) && ["label", "unit", "log"].every((key) => other.z[key] === this.surface.z[key]);
  }

  height() {
    const { z } = this.surface;
    if (!this.common && this.net < 0) return z;
    const shown = this.surfaces.filter((other, k) => (this.common ? this.comparable(other) : k === this.chosen || k === this.net));
    const scale = { low: Math.min(...shown.map((s) => s.z.low)), high: Math.max(...shown.map((s) => s.z.high)), log: z.log };
    return { ...z, ...scale, ticks: ticksOf(scale).map((value) => ({ value, label: amount(value, z.unit) })) };
  }

  controls() {
    const part = (name) => this.section.querySelector(`[data-part="${name}"]`);
    const [surface, net, common] = [part("surface"), part("net"), part("common")];
    const optionsOf = (surfaces) => surfaces.map((other) => page.make("option", { value: this.surfaces.indexOf(other) }, this.name(other)));
    surface.append(...optionsOf(this.surfaces));
    const fillNets = () => {
      const nets = this.surfaces.filter((other) => other !== this.surface && this.comparable(other));
      net.replaceChildren(page.make("option", { value: -1 }, "none"), ...optionsOf(nets));
      if (!nets.includes(this.surfaces[this.net])) this.net = -1;
      net.value = this.net;
    };
    surface.addEventListener("change", () => {
      const keepsView = this.sameAxes(this.surfaces[surface.value]);
      this.chosen = Number(surface.value);
      if (!keepsView) this.camera = this.home();
      this.point = -1;
      fillNets();
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
    fillNets();
    const several = this.surfaces.length > 1;
    part("net-label").hidden = part("common-label").hidden = !several;
    if (!several) surface.closest("label").hidden = !this.name(this.surface);
    this.section.querySelectorAll("[data-turn]").forEach((button) => {
      button.addEventListener("click", () => this.turn(button.dataset.turn));
    });
  }

  turn(how) {
    const { camera } = this;
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
    this.canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const step = { n: 1, N: 1, p: -1, P: -1 }[event.key];
      if (KEYS[event.key]) this.turn(KEYS[event.key]);
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
    const point = pointNear(this.drawn, event.clientX - box.left, event.clientY - box.top);
    if (point >= 0) this.tell(point);
    else this.leave();
  }

  values(k) {
    const { surface } = this;
    const { i, j, value } = this.drawn.points[k];
    const short = (axis) => axis.label.split(" (")[0];
    const pairs = [
      [short(surface.x), surface.x.names[i]],
      [short(surface.y), surface.y.names[j]],
      [surface.z.label, value === null ? "failed" : amount(value, surface.z.unit)],
    ];
    const other = this.surfaces[this.net];
    if (other) {
      const same = (axis, wanted) => axis.values.findIndex((v) => Math.abs(v / wanted - 1) < 1e-9);
      const [column, row] = [same(other.x, surface.x.values[i]), same(other.y, surface.y.values[j])];
      const there = column >= 0 && row >= 0 ? other.values[row][column] : null;
      if (there !== null && value !== null) {
        pairs.push([this.name(other), `${amount(there, other.z.unit)} (${shortNumber(there / value)} times)`]);
      }
    }
    return pairs;
  }

  tell(k) {
    this.point = k;
    this.draw();
    const { x, y } = this.drawn.points[k];
    const box = this.canvas.getBoundingClientRect();
    const values = this.values(k);
    page.showHint(box.left + x, box.top + y, values);
    return values;
  }

  step(by) {
    const count = this.drawn.points.length;
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

  draw() {
    const { surface, camera, point } = this;
    const width = Math.max(this.canvas.clientWidth, 200);
    const [small, narrow] = [width < 560, width < 800];
    const height = Math.round(small ? clamp(width * 1.05, 320, 480) : clamp(width * 0.62, 300, 600));
    const axes = [surface.x, surface.y, this.height()];
    const context = sizeCanvas(this.canvas, { width, height });
    const [net, theme, size] = [this.surfaces[this.net], themeOf(this.section), { width, height, small, narrow }];
    this.drawn = drawSurface(context, { surface, axes, net, camera, theme, size, point });
    this.report(axes[2]);
  }

  // Describes the picture for screen readers and tests.
  report({ low, high }) {
    const { azimuth, elevation, zoom } = this.camera;
    const round = (v) => String(Math.round(v * 10) / 10);
    Object.assign(this.section.dataset, {
      azimuth: round(azimuth), elevation: round(elevation), zoom: zoom.toFixed(2),
      surface: this.chosen, net: this.net, cells: this.drawn.cells.length, low, high,
    });
    const { x, y, z } = this.surface;
    const [name, count] = [this.name(this.surface), this.surfaces.length];
    this.section.querySelector("[data-part=name]").textContent =
      name + (count > 1 ? `, surface ${this.chosen + 1} of ${count}` : "");
    this.canvas.setAttribute("aria-label",
      `${this.name(this.surface)}: ${z.label} over ${x.label} and ${y.label}, ` +
      `seen from ${round(elevation)} degrees above. N steps through its points.`);
  }
}

export function startViewers() {
  document.querySelectorAll("section.viewer").forEach((section) => new Viewer(section));
}
