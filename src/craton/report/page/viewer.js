// Seismograms on canvases: a record section, the components of one station, their spectra and picks.
"use strict";

const COLOURS = { E: "#0072b2", R: "#0072b2", N: "#d55e00", T: "#d55e00", Z: "#007a5a" };
const PHASE_COLOURS = { P: "#b3261e", S: "#1f5f9f" };
const INK = "#1c232b", SOFT = "#5b6670", GRID = "#e6eaee", LEFT = 74, RIGHT = 58, TOP = 24, BOTTOM = 38;
const NAMES = { E: "East", N: "North", Z: "Up", R: "Radial", T: "Transverse" };

const colourOf = (name) => COLOURS[name.slice(-1)] || "#333333";
const phaseColour = (name) => PHASE_COLOURS[name[0].toUpperCase()] || "#7a5195";
const byId = (id) => document.getElementById(id);

// Samples are 16-bit integers of the peak of each trace, little-endian.
function decoded(records) {
  const bytes = Uint8Array.from(atob(records.samples), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer), n = records.time.count, parts = records.components.length;
  return records.names.map((_, r) =>
    records.components.map((_, c) => {
      const trace = new Float32Array(n), peak = records.peaks[r][c] / 32767, first = (r * parts + c) * n;
      for (let i = 0; i < n; i++) trace[i] = view.getInt16(2 * (first + i), true) * peak;
      return trace;
    }));
}

// Round numbers that divide a range in about `count` steps.
function ticks(low, high, count) {
  const raw = Math.abs(high - low) / Math.max(count, 1);
  if (!(raw > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((f) => f * power).find((s) => s >= raw * 0.999);
  const out = [], [a, b] = low < high ? [low, high] : [high, low];
  for (let k = Math.ceil(a / step - 1e-9); k * step <= b + 1e-9 * step; k++) out.push(Number((k * step).toPrecision(12)));
  return out;
}

const words = (value) => {
  const size = Math.abs(value);
  return size === 0 ? "0" : size >= 1e5 || size < 1e-3 ? value.toExponential(2) : String(Number(value.toPrecision(4)));
};

// A value with the SI prefix that brings a scale to between 1 and 1000.
function prefixed(unit, peak) {
  if (!/^[A-Za-z]/.test(unit) || !(peak > 0)) return [1, unit];
  const row = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"], [1e-12, "p"]]
    .find(([scale]) => peak >= scale);
  return row ? [1 / row[0], row[1] + unit] : [1, unit];
}

// A canvas in the pixels of the screen, with axes that turn values into places.
class Panel {
  constructor(canvas, height) {
    this.canvas = canvas;
    this.height = height;
    this.context = canvas.getContext("2d");
  }

  begin() {
    const ratio = window.devicePixelRatio || 1, width = this.canvas.clientWidth;
    this.canvas.style.height = `${this.height}px`;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.width = width;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.fillStyle = "white";
    this.context.fillRect(0, 0, width, this.height);
    this.context.font = "12px system-ui, 'DejaVu Sans', sans-serif";
  }

  // Place of a value between the limits [a, b] along x, and back.
  x(value, [a, b]) { return LEFT + ((value - a) / (b - a)) * (this.width - LEFT - RIGHT); }
  value(x, [a, b]) { return a + ((x - LEFT) / (this.width - LEFT - RIGHT)) * (b - a); }

  text(words, x, y, align = "left", colour = SOFT, bold = false) {
    const c = this.context;
    c.save();
    if (bold) c.font = `600 ${c.font.replace(/^\d+ /, "")}`;
    c.fillStyle = colour;
    c.textAlign = align;
    c.textBaseline = "middle";
    c.fillText(words, x, y);
    c.restore();
  }

  line(x0, y0, x1, y1, colour, width = 1, dash = []) {
    const c = this.context;
    c.beginPath();
    c.setLineDash(dash);
    c.moveTo(x0, y0);
    c.lineTo(x1, y1);
    c.strokeStyle = colour;
    c.lineWidth = width;
    c.stroke();
    c.setLineDash([]);
  }

  upwards(words, y) {
    const c = this.context;
    c.save();
    c.translate(12, y);
    c.rotate(-Math.PI / 2);
    this.text(words, 0, 0, "center");
    c.restore();
  }

  abscissa(limits, top, bottom, label) {
    for (const value of ticks(...limits, 8)) {
      const x = this.x(value, limits);
      this.line(x, top, x, bottom, GRID);
      this.text(words(value), x, bottom + 11, "center");
    }
    this.line(LEFT, bottom, this.width - RIGHT, bottom, SOFT);
    this.text(label, (LEFT + this.width - RIGHT) / 2, bottom + 27, "center");
  }

  clip(top, bottom, draw) {
    const c = this.context;
    c.save();
    c.beginPath();
    c.rect(LEFT, top, this.width - LEFT - RIGHT, bottom - top);
    c.clip();
    draw();
    c.restore();
  }

  // A trace: where samples are denser than pixels, its least and greatest value in each of them.
  trace(samples, start, step, limits, place, colour, width = 1, fill = null) {
    const c = this.context, n = samples.length;
    const first = Math.max(0, Math.floor((limits[0] - start) / step) - 1);
    const last = Math.min(n - 1, Math.ceil((limits[1] - start) / step) + 1);
    const dense = (last - first) / Math.max(this.width - LEFT - RIGHT, 1) > 3;
    c.beginPath();
    let column = null, low = 0, high = 0;
    for (let i = first; i <= last; i++) {
      const x = this.x(start + i * step, limits), y = place(samples[i]);
      if (!dense) { i === first ? c.moveTo(x, y) : c.lineTo(x, y); continue; }
      const pixel = Math.floor(x);
      if (pixel === column) { low = Math.min(low, y); high = Math.max(high, y); continue; }
      if (column !== null) { c.lineTo(column, low); c.lineTo(column, high); }
      [column, low, high] = [pixel, y, y];
    }
    if (dense && column !== null) { c.lineTo(column, low); c.lineTo(column, high); }
    c.strokeStyle = colour;
    c.lineWidth = width;
    c.stroke();
    if (fill === null || last <= first) return;
    c.lineTo(this.x(start + last * step, limits), fill);
    c.lineTo(this.x(start + first * step, limits), fill);
    c.save();
    c.clip();
    c.globalAlpha = 0.3;
    c.fillStyle = colour;
    c.fillRect(LEFT, TOP, this.width, fill - TOP);
    c.restore();
  }
}

// Wheel: zoom about the cursor. Drag: zoom into a stretch. Shift and drag: move. Double click: all.
function zoomable(panel, state, redraw, click, hover) {
  const canvas = panel.canvas, all = [...state.limits];
  let from = null, at = null;
  const place = (event) => event.clientX - canvas.getBoundingClientRect().left;
  const set = (a, b) => {
    const least = 8 * state.step;
    if (b - a < least) return;
    state.limits = [Math.max(a, all[0]), Math.min(b, all[1])];
    redraw();
  };
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const t = panel.value(place(event), state.limits), f = Math.exp(event.deltaY * 0.0015);
    set(t + (state.limits[0] - t) * f, t + (state.limits[1] - t) * f);
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    from = { x: place(event), limits: [...state.limits], move: event.shiftKey };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    at = place(event);
    if (!from) { hover(panel.value(at, state.limits), event); return; }
    if (from.move) {
      const d = panel.value(from.x, from.limits) - panel.value(at, from.limits), [a, b] = from.limits;
      const kept = Math.min(Math.max(d, all[0] - a), all[1] - b);
      set(a + kept, b + kept);
      return;
    }
    redraw();
    panel.context.fillStyle = "rgba(31, 95, 159, 0.15)";
    panel.context.fillRect(Math.min(from.x, at), TOP, Math.abs(at - from.x), panel.height - TOP - BOTTOM);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (!from) return;
    const start = from, x = place(event);
    from = null;
    if (start.move) return;
    if (Math.abs(x - start.x) < 4) { click(panel.value(x, state.limits), event); redraw(); return; }
    const [a, b] = [start.x, x].sort((p, q) => p - q).map((p) => panel.value(p, state.limits));
    set(a, b);
    redraw();
  });
  canvas.addEventListener("dblclick", () => set(...all));
}

// Amplitude spectrum of samples, padded with zeros to a power of two (radix-2 FFT).
function spectrum(samples, step) {
  const n = 2 ** Math.ceil(Math.log2(Math.max(samples.length, 8))), re = new Float64Array(n), im = new Float64Array(n);
  for (let i = 0; i < samples.length; i++) {
    let j = 0;
    for (let bit = 1, k = i; bit < n; bit <<= 1, k >>= 1) j = (j << 1) | (k & 1);
    re[j] = samples[i];
  }
  for (let size = 2; size <= n; size *= 2) {
    for (let k = 0; k < size / 2; k++) {
      const a = (-2 * Math.PI * k) / size, wr = Math.cos(a), wi = Math.sin(a);
      for (let i = k; i < n; i += size) {
        const j = i + size / 2, tr = re[j] * wr - im[j] * wi, ti = re[j] * wi + im[j] * wr;
        re[j] = re[i] - tr; im[j] = im[i] - ti; re[i] += tr; im[i] += ti;
      }
    }
  }
  const frequency = [], amplitude = [];
  for (let k = 1; k <= n / 2; k++) { frequency.push(k / (n * step)); amplitude.push(Math.hypot(re[k], im[k]) * step); }
  return { frequency, amplitude };
}

// Frequency above which spectra are 80 dB below their top.
function highest(spectra, top) {
  let last = 4;
  for (const { amplitude } of spectra) amplitude.forEach((a, i) => { if (a > 1e-4 * top) last = Math.max(last, i); });
  return spectra[0].frequency[Math.min(Math.round(last * 1.15), spectra[0].frequency.length - 1)];
}

function viewer(records) {
  const traces = decoded(records), { start, step, count } = records.time;
  const whole = [start, start + (count - 1) * step];
  const state = { limits: [...whole], step, receiver: 0, component: records.components.length - 1, picks: [], arm: null, cursor: null };
  const section = new Panel(byId("section"), 520);
  const station = new Panel(byId("station"), 90 + 110 * records.components.length);
  const spectra = new Panel(byId("spectra"), 260);
  const keys = Object.keys(records.keys);

  for (const [id, names] of [["component", records.components], ["by", keys], ["receiver", records.names]]) {
    byId(id).replaceChildren(...names.map((name, i) => new Option(id === "component" ? NAMES[name] || name : name, i)));
  }
  byId("component").value = state.component;

  const peakOf = (r, c) => Math.max(records.peaks[r][c], 1e-300);
  const reduction = () => {  // s by which the times of each receiver are reduced
    const v = Number(byId("reduce").value);
    const offset = records.keys[records.reducing];
    return offset && v > 0 ? offset.values.map((x) => x / v) : records.names.map(() => 0);
  };

  function order() {
    const key = records.keys[keys[Number(byId("by").value)]];
    const values = key.values, low = Math.min(...values), high = Math.max(...values), span = high - low || 1;
    const top = TOP + 26, bottom = section.height - BOTTOM - 26;
    return { key, y: (r) => top + ((values[r] - low) / span) * (bottom - top), low, high, top, bottom };
  }

  function drawSection() {
    section.begin();
    const { key, y, low, high, top, bottom } = order(), gain = Number(byId("gain").value), c = state.component;
    const foot = section.height - BOTTOM, delays = reduction(), reduced = delays.some((d) => d !== 0);
    const v = byId("reduce").value, unit = records.keys[records.reducing]?.unit;
    section.abscissa(state.limits, TOP, foot, reduced ? `Time - ${records.reducing} / (${v} ${unit}/s) (s)` : "Time (s)");
    for (const value of ticks(low, high, 8)) section.text(words(value), LEFT - 6, top + ((value - low) / (high - low || 1)) * (bottom - top), "right");
    section.upwards(`${key.label} (${key.unit})`, (top + bottom) / 2);
    const gap = (bottom - top) / Math.max(records.names.length - 1, 1);
    const size = Math.min(Math.max(gap, 5), 60) * 0.9 * gain;
    const absolute = byId("scale").value === "all";
    const loudest = Math.max(...records.names.map((_, r) => peakOf(r, c)));
    section.clip(TOP, foot, () => {
      records.names.forEach((_, r) => {
        const peak = absolute ? loudest : byId("scale").value === "station" ? Math.max(...records.peaks[r], 1e-300) : peakOf(r, c), base = y(r);
        const colour = r === state.receiver ? INK : colourOf(records.components[c]);
        section.trace(traces[r][c], start - delays[r], step, state.limits, (s) => base - (size * s) / peak, colour, r === state.receiver ? 1.5 : gap < 8 ? 0.5 : 0.8, gap < 8 ? null : base);
      });
      if (byId("arrivals").checked) drawArrivals(y, delays, gap);
    });
    let last = -99;
    [...records.names.keys()].sort((a, b) => y(a) - y(b)).forEach((r) => {
      if (y(r) - last < 13 && r !== state.receiver) return;
      last = y(r);
      section.text(records.names[r].slice(0, 8), section.width - RIGHT + 5, y(r), "left", r === state.receiver ? INK : SOFT, r === state.receiver);
    });
    section.text(`${records.quantity}, ${(NAMES[records.components[c]] || records.components[c]).toLowerCase()}`, LEFT, 12, "left", INK, true);
  }

  function drawArrivals(y, delays, gap) {
    const half = Math.min(Math.max(gap * 0.5, 4), 18);
    for (const [phase, times] of Object.entries(records.arrivals)) {
      let first = null;
      times.forEach((t, r) => {
        if (t === null) return;
        const x = section.x(t - delays[r], state.limits);
        section.line(x, y(r) - half, x, y(r) + half, phaseColour(phase), 2);
        if (first === null || y(r) < first[1]) first = [x, y(r)];
      });
      if (first) section.text(phase, first[0] + 4, Math.max(first[1] - half - 5, TOP + 8), "left", phaseColour(phase), true);
    }
  }

  function drawStation() {
    station.begin();
    const r = state.receiver, parts = records.components.length, foot = station.height - BOTTOM, tall = (foot - TOP) / parts;
    const peak = Math.max(...records.peaks[r], 1e-300), [factor, unit] = prefixed(records.unit, peak);
    station.abscissa(state.limits, TOP, foot, "Time (s)");
    records.components.forEach((name, c) => {
      const middle = TOP + tall * (c + 0.5), size = tall * 0.46;
      station.line(LEFT, middle, station.width - RIGHT, middle, GRID);
      for (const value of [-peak, peak]) station.text(words(Number((value * factor).toPrecision(3))), LEFT - 6, middle - (value / peak) * size * 0.92, "right");
      station.clip(TOP, foot, () => station.trace(traces[r][c], start, step, state.limits, (s) => middle - (size * s) / peak, colourOf(name), 1.1));
      station.text(NAMES[name] || name, station.width - RIGHT + 5, middle, "left", colourOf(name), true);
    });
    station.upwards(unit, (TOP + foot) / 2);
    const marks = Object.entries(records.arrivals).map(([phase, times]) => [phase, times[r], [5, 4]]);
    for (const pick of state.picks) if (pick.receiver === r) marks.push([`${pick.phase} picked`, pick.time, []]);
    for (const [phase, t, dash] of marks) {
      if (t === null || t < state.limits[0] || t > state.limits[1]) continue;
      const x = station.x(t, state.limits);
      station.line(x, TOP, x, foot, phaseColour(phase), 1.4, dash);
      station.text(phase, x + 3, TOP + (dash.length ? 8 : 22), "left", phaseColour(phase), true);
    }
    const where = keys.slice(0, 2).map((k) => `${records.keys[k].label.toLowerCase()} ${words(records.keys[k].values[r])} ${records.keys[k].unit}`);
    station.text(`Station ${records.names[r]}: ${[records.quantity.toLowerCase(), ...where].join(", ")}`, LEFT, 12, "left", INK, true);
    drawSpectra();
  }

  function drawSpectra() {
    spectra.begin();
    const r = state.receiver, foot = spectra.height - BOTTOM;
    const first = Math.max(0, Math.round((state.limits[0] - start) / step)), last = Math.min(count, Math.round((state.limits[1] - start) / step) + 1);
    const all = traces[r].map((trace) => spectrum(trace.subarray(first, last), step));
    const top = Math.max(...all.map((s) => Math.max(...s.amplitude)));
    if (!(top > 0)) { spectra.text("no motion in this window", LEFT, 40); return; }
    const limits = [Math.log10(all[0].frequency[0]), Math.log10(highest(all, top))], floor = -80;
    const y = (db) => TOP + (db / floor) * (foot - TOP);
    for (const db of [0, -20, -40, -60, -80]) {
      spectra.line(LEFT, y(db), spectra.width - RIGHT, y(db), GRID);
      spectra.text(String(db), LEFT - 6, y(db), "right");
    }
    for (let k = Math.ceil(limits[0]); k <= limits[1]; k++) {
      spectra.line(spectra.x(k, limits), TOP, spectra.x(k, limits), foot, GRID);
    }
    for (let k = Math.floor(limits[0]); k <= limits[1]; k++) for (const m of [1, 2, 5]) {
      const at = k + Math.log10(m);
      if (at >= limits[0] && at <= limits[1]) spectra.text(words(m * 10 ** k), spectra.x(at, limits), foot + 11, "center");
    }
    spectra.text("Frequency (Hz)", (LEFT + spectra.width - RIGHT) / 2, foot + 27, "center");
    spectra.upwards("Amplitude (dB)", (TOP + foot) / 2);
    const c = spectra.context;
    spectra.clip(TOP, foot, () => all.forEach((s, k) => {
      c.beginPath();
      s.frequency.forEach((f, i) => {
        const x = spectra.x(Math.log10(f), limits), v = y(20 * Math.log10(Math.max(s.amplitude[i], 1e-30) / top));
        i ? c.lineTo(x, v) : c.moveTo(x, v);
      });
      c.strokeStyle = colourOf(records.components[k]);
      c.lineWidth = 1.2;
      c.stroke();
    }));
    spectra.text(`Amplitude spectra of ${records.names[r]}, ${words(state.limits[0])} to ${words(state.limits[1])} s; 0 dB is ${words(top)} (${records.unit})/Hz`, LEFT, 12, "left", INK, true);
  }

  function draw() { drawSection(); drawStation(); }

  function listPicks() {
    const rows = state.picks.map((pick, i) => {
      const expected = records.arrivals[pick.phase]?.[pick.receiver] ?? null;
      const cells = [records.names[pick.receiver], pick.phase, pick.time.toFixed(4), expected === null ? "" : (pick.time - expected).toFixed(4)];
      const row = document.createElement("tr");
      for (const cell of cells) row.append(Object.assign(document.createElement("td"), { textContent: cell }));
      const remove = Object.assign(document.createElement("button"), { textContent: "remove" });
      remove.addEventListener("click", () => { state.picks.splice(i, 1); listPicks(); draw(); });
      row.append(document.createElement("td"));
      row.lastChild.append(remove);
      return row;
    });
    byId("picks").replaceChildren(...rows);
    byId("pick-table").hidden = !rows.length;
  }

  function pick(phase, time) {
    const held = state.picks.findIndex((p) => p.receiver === state.receiver && p.phase === phase);
    if (held >= 0) state.picks.splice(held, 1);
    state.picks.push({ receiver: state.receiver, phase, time: start + Math.round((time - start) / step) * step });
    arm(null);
    listPicks();
    draw();
  }

  function arm(phase) {
    state.arm = phase;
    for (const name of ["P", "S"]) byId(`pick-${name}`).setAttribute("aria-pressed", String(phase === name));
  }

  function select(r) {
    state.receiver = Math.min(Math.max(r, 0), records.names.length - 1);
    byId("receiver").value = state.receiver;
    draw();
  }

  function nearest(event) {
    const at = event.clientY - section.canvas.getBoundingClientRect().top, { y } = order();
    return records.names.map((_, r) => [Math.abs(y(r) - at), r]).sort((a, b) => a[0] - b[0])[0][1];
  }

  zoomable(section, state, draw, (t, event) => select(nearest(event)), (t, event) => {
    byId("section-readout").textContent = `${records.names[nearest(event)]}, ${t.toFixed(3)} s`;
  });
  zoomable(station, state, draw, (t) => { if (state.arm) pick(state.arm, t); }, (t) => {
    state.cursor = t;
    const i = Math.round((t - start) / step), [factor, unit] = prefixed(records.unit, Math.max(...records.peaks[state.receiver]));
    if (i < 0 || i >= count) return;
    const values = records.components.map((name, c) => `${name} ${(traces[state.receiver][c][i] * factor).toPrecision(4)} ${unit}`);
    byId("station-readout").textContent = `${t.toFixed(4)} s: ${values.join(", ")}`;
  });
  station.canvas.addEventListener("keydown", (event) => {
    const key = event.key.toUpperCase(), step = { ARROWDOWN: 1, ARROWRIGHT: 1, ARROWUP: -1, ARROWLEFT: -1 }[key];
    if ("PS".includes(key) && key.length === 1 && state.cursor !== null) pick(key, state.cursor);
    else if (step) { event.preventDefault(); select(state.receiver + step); }
  });
  for (const name of ["P", "S"]) byId(`pick-${name}`).addEventListener("click", () => arm(state.arm === name ? null : name));
  byId("component").addEventListener("change", (event) => { state.component = Number(event.target.value); draw(); });
  byId("receiver").addEventListener("change", (event) => select(Number(event.target.value)));
  for (const id of ["by", "scale", "gain", "reduce", "arrivals"]) byId(id).addEventListener("input", draw);
  byId("reset").addEventListener("click", () => { state.limits = [...whole]; draw(); });
  byId("save-picks").addEventListener("click", () => {
    const lines = ["station,phase,time_s", ...state.picks.map((p) => [records.names[p.receiver], p.phase, p.time.toFixed(6)].join(","))];
    const link = document.createElement("a");
    link.href = `data:text/csv,${encodeURIComponent(lines.join("\n") + "\n")}`;
    link.download = "picks.csv";
    link.click();
  });
  if (!records.keys[records.reducing]) byId("reduce").disabled = true;
  if (!Object.keys(records.arrivals).length) byId("arrivals").disabled = true;
  window.addEventListener("resize", draw);
  draw();
  return { state, select, records };
}

const text = document.getElementById("records");
if (text) window.craton = viewer(JSON.parse(text.textContent));
