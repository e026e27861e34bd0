// The viewer of a result in a notebook: a picture of the wavefield with a slider for time, receivers to click on, the traces of one.

const BLUE = [8, 81, 156], WHITE = [255, 255, 255], RED = [165, 38, 12];
const LINES = { E: "#0072b2", N: "#d55e00", Z: "#007a5a", "": "#333333" };
const WIDTH = 760, LEFT = 56, RIGHT = 14;

const bytes = (view) => (view instanceof DataView ? view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength) : view);

const element = (name, parent, properties = {}) => parent.appendChild(Object.assign(document.createElement(name), properties));

// Colours of the values -127 to 127.
function palette() {
  const colours = new Uint8ClampedArray(4 * 256);
  for (let value = -128; value < 128; value++) {
    const share = Math.min(Math.abs(value) / 127, 1), end = value < 0 ? BLUE : RED;
    for (let c = 0; c < 3; c++) colours[4 * (value + 128) + c] = WHITE[c] + share * (end[c] - WHITE[c]);
    colours[4 * (value + 128) + 3] = 255;
  }
  return colours;
}

// Where the area of a picture or a map lies on its canvas, and how coordinates become pixels.
function frameOf(about) {
  const { picture, receivers } = about;
  const span = (values) => [Math.min(...values), Math.max(...values)];
  const ends = (axis, values) => (axis ? [axis.first, axis.last] : span(values));
  let [x0, x1] = ends(picture && picture.x, receivers.x), [y0, y1] = ends(picture && picture.y, receivers.y);
  if (x0 === x1) [x0, x1] = [x0 - 1, x1 + 1];
  if (y0 === y1) [y0, y1] = [y0 - 1, y1 + 1];
  const width = WIDTH - LEFT - RIGHT;
  const height = Math.round(Math.min(420, Math.max(120, (width * Math.abs(y1 - y0)) / Math.abs(x1 - x0))));
  return {
    width, height, top: 12, x0, x1, y0, y1,
    px: (x) => LEFT + ((x - x0) / (x1 - x0)) * width,
    py: (y) => 12 + (1 - (y - y0) / (y1 - y0)) * height,
  };
}

const short = (value) => Number(value.toPrecision(4)).toString();

function drawPicture(canvas, state) {
  const { about, frame, area, image, colours, frames } = state;
  const context = canvas.getContext("2d");
  context.fillStyle = "white";
  context.fillRect(0, 0, canvas.width, canvas.height);
  if (about.picture) {
    const [, rows, columns] = about.picture.shape;
    const pixels = image.getContext("2d").createImageData(columns, rows);
    const values = frames.subarray(frame * rows * columns, (frame + 1) * rows * columns);
    for (let j = 0; j < rows; j++) {
      for (let i = 0; i < columns; i++) {
        const from = 4 * (values[j * columns + i] + 128), to = 4 * ((rows - 1 - j) * columns + i);
        for (let c = 0; c < 4; c++) pixels.data[to + c] = colours[from + c];
      }
    }
    image.getContext("2d").putImageData(pixels, 0, 0);
    context.drawImage(image, LEFT, area.top, area.width, area.height);
  }
  context.strokeStyle = "#444";
  context.strokeRect(LEFT, area.top, area.width, area.height);
  drawAxes(context, area, about);
  drawReceivers(context, state);
}

function drawAxes(context, area, about) {
  const { picture } = about;
  const name = (axis, fallback) => (axis ? `${axis.name}, ${axis.unit}` : `${fallback}, m`);
  context.fillStyle = "#222";
  context.font = "12px sans-serif";
  context.textAlign = "left";
  context.fillText(short(area.x0), LEFT, area.top + area.height + 14);
  context.textAlign = "right";
  context.fillText(short(area.x1), LEFT + area.width, area.top + area.height + 14);
  context.fillText(short(area.y1), LEFT - 4, area.top + 10);
  context.fillText(short(area.y0), LEFT - 4, area.top + area.height);
  context.textAlign = "center";
  context.fillText(name(picture && picture.x, "x"), LEFT + area.width / 2, area.top + area.height + 14);
  context.save();
  context.translate(14, area.top + area.height / 2);
  context.rotate(-Math.PI / 2);
  context.fillText(name(picture && picture.y, "y"), 0, 0);
  context.restore();
}

function drawReceivers(context, { about, area, receiver }) {
  const { receivers } = about;
  receivers.names.forEach((name, n) => {
    const x = area.px(receivers.x[n]), y = area.py(receivers.y[n]), size = n === receiver ? 7 : 5;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x - size, y - 1.6 * size);
    context.lineTo(x + size, y - 1.6 * size);
    context.closePath();
    context.fillStyle = n === receiver ? "#e69f00" : "#222";
    context.fill();
  });
}

function drawTraces(canvas, { about, traces, receiver, time }) {
  const { receivers } = about, { count, components } = receivers;
  const context = canvas.getContext("2d"), width = WIDTH - LEFT - RIGHT, tall = (canvas.height - 26) / components.length;
  context.fillStyle = "white";
  context.fillRect(0, 0, canvas.width, canvas.height);
  const first = receiver * components.length * count;
  let peak = 0;
  for (let k = first; k < first + components.length * count; k++) peak = Math.max(peak, Math.abs(traces[k]));
  context.font = "12px sans-serif";
  components.forEach((name, c) => {
    const middle = tall * (c + 0.5);
    context.strokeStyle = LINES[name] || "#333";
    context.beginPath();
    for (let k = 0; k < count; k++) {
      const y = middle - (0.46 * tall * traces[first + c * count + k]) / (peak || 1);
      context.lineTo(LEFT + (k / Math.max(count - 1, 1)) * width, y);
    }
    context.stroke();
    context.fillStyle = "#222";
    context.textAlign = "right";
    context.fillText(name, LEFT - 6, middle + 4);
  });
  const end = receivers.start + (count - 1) * receivers.step;
  context.textAlign = "left";
  context.fillText(`${short(receivers.start)} s`, LEFT, canvas.height - 10);
  context.textAlign = "right";
  context.fillText(`${short(end)} s`, LEFT + width, canvas.height - 10);
  context.textAlign = "center";
  const words = `${receivers.names[receiver]}: ${receivers.label}, largest ${short(peak)} ${receivers.unit}`;
  context.fillText(words, LEFT + width / 2, canvas.height - 10);
  if (time === null) return;
  const x = LEFT + ((time - receivers.start) / (end - receivers.start || 1)) * width;
  context.strokeStyle = "#999";
  context.beginPath();
  context.moveTo(x, 0);
  context.lineTo(x, canvas.height - 26);
  context.stroke();
}

// The receiver nearest to a place on the canvas.
function nearest({ about, area }, x, y) {
  const distance = (n) => Math.hypot(area.px(about.receivers.x[n]) - x, area.py(about.receivers.y[n]) - y);
  return about.receivers.names.reduce((best, _, n) => (distance(n) < distance(best) ? n : best), 0);
}

function controls(root, model, about) {
  const row = element("div", root, { style: "display: flex; gap: 8px; align-items: center; width: 760px" });
  const play = element("button", row, { textContent: "Play", type: "button" });
  const last = about.picture.times.length - 1;
  const slider = element("input", row, { type: "range", min: 0, max: last, value: model.get("frame"), style: "flex: 1" });
  const label = element("span", row, { style: "font: 12px sans-serif; min-width: 14em" });
  let timer = null;
  const set = (frame) => {
    model.set("frame", frame);
    model.save_changes();
  };
  const stop = () => {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
  };
  slider.setAttribute("aria-label", "time");
  slider.addEventListener("input", () => set(Number(slider.value)));
  play.addEventListener("click", () => {
    if (timer) return stop();
    play.textContent = "Stop";
    timer = setInterval(() => set(model.get("frame") < last ? model.get("frame") + 1 : 0), 100);
  });
  const show = (frame) => {
    const { label: name, limit, unit, times } = about.picture;
    slider.value = frame;
    label.textContent = `${times[frame].toFixed(3)} s; ${name} ± ${short(limit)} ${unit}`;
  };
  return { show, stop };
}

function render({ model, el }) {
  const about = model.get("about"), area = frameOf(about), root = element("div", el, { className: "craton-viewer" });
  element("div", root, { textContent: about.title, style: "font: bold 14px sans-serif; padding: 4px 0" });
  const canvas = element("canvas", root, { width: WIDTH, height: area.height + 34, style: "cursor: pointer" });
  const bar = about.picture ? controls(root, model, about) : { show() {}, stop() {} };
  const lines = element("canvas", root, { width: WIDTH, height: 26 + 70 * about.receivers.components.length });
  const image = document.createElement("canvas");
  if (about.picture) [image.height, image.width] = about.picture.shape.slice(1);
  const frames = new Int8Array(bytes(model.get("frames"))), traces = new Float32Array(bytes(model.get("traces")));
  const colours = palette();
  const draw = () => {
    const frame = Math.min(Math.max(model.get("frame"), 0), about.picture ? about.picture.times.length - 1 : 0);
    const receiver = Math.min(Math.max(model.get("receiver"), 0), about.receivers.names.length - 1);
    const time = about.picture ? about.picture.times[frame] : null;
    const state = { about, area, image, colours, frames, traces, frame, receiver, time };
    drawPicture(canvas, state);
    if (about.receivers.names.length) drawTraces(lines, state);
    if (about.picture) bar.show(frame);
  };
  canvas.addEventListener("click", (event) => {
    if (!about.receivers.names.length) return;
    model.set("receiver", nearest({ about, area }, event.offsetX, event.offsetY));
    model.save_changes();
  });
  model.on("change:frame", draw);
  model.on("change:receiver", draw);
  draw();
  return bar.stop;
}

export default { render };
