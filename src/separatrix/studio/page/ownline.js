// A line of one's own: dragged by a point on it and by the tip of θ, or typed; below the picture
// stands what the kernel finds for it, and how far it is from the best. The model's line is hidden
// until it is asked for.
import { button, element, fill, identifier, setAttributes, shape } from "./dom.js";
import { clamp, isSame, written } from "./numbers.js";
import { coefficients, slackLines, straight } from "./lines.js";

const DIGITS = 5;
const SHORTEST = 34;
// How long the handle of a regression's slope is.
const ARM = 90;
const TURN = Math.PI / 60;
const GROWTH = 1.06;
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class OwnLine {
  constructor(app) {
    this.app = app;
    this.layer = app.picture.layers.own;
    this.reply = null;
    this.best = null;
    this.showsBest = false;
    this.near = null;
    const handle = (part, form) =>
      shape("g", { class: `handle ${part}`, tabindex: "0", role: "slider", "data-part": part, onpointerdown: (event) => this.press(event, part), onkeydown: (event) => this.key(event, part) }, form, shape("circle", { class: "grip", r: 9 }));
    this.drawn = shape("g", {});
    this.foot = handle("foot", null);
    this.tip = handle("tip", shape("text", { class: "theta-name", x: 14, y: 5 }, "θ"));
    for (const node of [this.foot, this.tip]) for (const end of ["pointermove", "pointerup", "pointercancel"]) node.addEventListener(end, (event) => this.drag(event));
    const id = identifier("own-line");
    this.opener = button("Draw a line of your own", { hint: "How far is your line from the best? (l)", kind: "opener", onclick: () => this.start() });
    if (!app.isReplay) app.controls.node.append(this.opener);
    this.node = element("section", { class: "your-line", "aria-labelledby": id });
    this.fields = element("div", { class: "fields", role: "group", "aria-label": "Your line" });
    this.sentence = element("p", { class: "gap", role: "status" });
    this.record = element("p", { class: "note" });
    this.again = button("Go back to it", { kind: "plain", onclick: () => this.take(this.best.line) });
    this.back = button("Bring it back", { kind: "plain", onclick: () => this.bring() });
    this.reveal = button("Show the best", { "aria-pressed": false, onclick: () => this.compare() });
    this.table = element("table", { class: "measures" });
    this.parts = [
      element("div", { class: "card-head" }, element("h2", { id }, "Your line"), element("span", { class: "group" }, this.reveal, button("Remove your line", { picture: "close", onclick: () => this.end() }))),
      this.fields,
      this.sentence,
      this.record,
      this.table,
    ];
    app.store.on((state, parts) => parts.includes("line") && this.changed());
  }

  get line() {
    return this.app.isReplay ? null : (this.app.store.state.line ?? null);
  }

  // Whether the picture shows this line in the place of the model's.
  get isAlone() {
    return Boolean(this.line && this.reply?.points && !this.showsBest);
  }

  async start() {
    if (!this.line) this.showsBest = false;
    if (!this.line || !this.footAt()) await this.bring();
    // Behind the frame in which it is drawn.
    requestAnimationFrame(() => {
      this.tip.focus({ preventScroll: true });
      this.goThere();
    });
  }

  // What stands below the picture is in its place once the kernel has answered.
  goThere() {
    this.isComing = this.asking;
    const below = getComputedStyle(this.app.picture.node).position === "sticky";
    if (!this.isComing) this.node.scrollIntoView({ block: below ? "start" : "nearest" });
  }

  // A line through the middle of what is seen.
  async bring() {
    const reply = await this.app.request({ type: "line", state: { ...this.app.sentState(), line: null } });
    if (reply) this.take(reply.line);
  }

  end() {
    this.app.store.change({ line: null });
    this.opener.focus();
  }

  take(line) {
    const round = (v) => Number(v.toPrecision(DIGITS));
    if (line.every(Number.isFinite) && Math.hypot(line[0], line[1]) > 0) this.app.store.change({ line: line.map(round) });
  }

  compare() {
    this.showsBest = !this.showsBest;
    this.renew();
    // The steps of the model are shown beside the best, and hidden otherwise.
    this.goThere();
  }

  changed() {
    if (!this.line) this.reply = null;
    this.ask();
    this.renew();
  }

  // One question at a time, and after it the newest.
  async ask() {
    const { app } = this;
    if (!this.line || !app.answer || this.asking) {
      this.waits = Boolean(this.line && this.asking);
      return;
    }
    const state = app.sentState();
    this.asking = true;
    const reply = await app.request({ type: "line", state });
    this.asking = false;
    if (reply && this.line) this.receive(reply, state);
    if (this.waits) this.ask();
  }

  receive(reply, { points, model, parameters, line }) {
    this.reply = reply;
    const of = [points, model, parameters];
    if (!isSame(this.best?.of, of)) this.best = null;
    const { objective } = reply;
    if (Number.isFinite(objective) && !(this.best?.objective <= objective)) this.best = { ...reply, line, of };
    this.renew();
    if (this.isComing) this.goThere();
  }

  renew() {
    const { app } = this;
    app.root.dataset.own = this.isAlone ? "alone" : this.line ? "beside" : "";
    if (app.answer) app.showStep();
    this.drawCard();
  }

  // What the picture shows of the model, or of this line in its place.
  over(shown) {
    if (!this.isAlone || !shown.answer) return shown;
    const { points, mistakes, width = null, test = null } = this.reply;
    return { ...shown, isLast: true, theta: null, visit: -1, answer: { ...shown.answer, steps: null, lines: [], field: null, ellipses: [], theta: null, points, mistakes, width, test } };
  }

  // ---- below the picture

  drawCard() {
    const { line, reply, app } = this;
    this.opener.hidden = Boolean(line);
    if (!line) return fill(this.node);
    if (!this.node.childElementCount) fill(this.node, this.parts);
    const isCurve = app.store.state.model === "regression";
    const [w1, w2, b] = line;
    const values = isCurve ? [["slope", reply?.slope, (v) => [v, -1, reply?.intercept ?? 0]], ["intercept", reply?.intercept, (v) => [reply?.slope ?? 0, -1, v]]] : [["θ₁", w1, (v) => [v, w2, b]], ["θ₂", w2, (v) => [w1, v, b]], ["θ₀", b, (v) => [w1, w2, v]]];
    if (!this.fields.contains(document.activeElement) || this.fields.childElementCount !== values.length)
      fill(this.fields, values.map(([name, value, made]) => element("label", {}, name, element("input", { type: "number", step: "any", class: "number", value: Number.isFinite(value) ? Number(value.toPrecision(DIGITS)) : "", onchange: ({ target }) => target.value !== "" && this.take(made(Number(target.value))) }))));
    this.sentence.textContent = reply?.sentence ?? "";
    const isRecord = this.best?.brief && this.best.objective < (reply?.objective ?? Infinity);
    if (!this.footAt()) fill(this.record, "Your line is not in the picture. ", this.back);
    else fill(this.record, isRecord ? [`Your best so far: ${this.best.brief}. `, this.again] : null);
    this.reveal.setAttribute("aria-pressed", this.showsBest);
    const cell = (value) => element("td", {}, Number.isInteger(value) ? String(value) : written(value, 4));
    const head = element("tr", {}, ["measure", "your line", "the model"].map((text) => element("th", { scope: "col" }, text)));
    fill(this.table, reply?.rows ? [element("thead", {}, head), element("tbody", {}, reply.rows.map(([name, own, its]) => element("tr", {}, element("th", { scope: "row" }, name), cell(own), cell(its))))] : null);
    return undefined;
  }

  // ---- in the picture

  // The point on the line that the hand last had, or the middle of what is seen of it.
  footAt() {
    const { view } = this.app;
    const [w1, w2, b] = this.line;
    const ends = view.ends([w1, w2], b);
    if (!ends) return null;
    const by = this.near ? (w1 * this.near[0] + w2 * this.near[1] + b) / (w1 * w1 + w2 * w2) : 0;
    const foot = this.near ? view.toPixels([this.near[0] - by * w1, this.near[1] - by * w2]) : [Infinity, 0];
    return view.holds(foot) ? foot : [(ends[0][0] + ends[1][0]) / 2, (ends[0][1] + ends[1][1]) / 2];
  }

  // From the foot to the tip, in pixels: where the score is 1, or along the line of a regression.
  arm() {
    const { view, store } = this.app;
    const [w1, w2] = this.line;
    const length = w1 * w1 + w2 * w2;
    if (store.state.model !== "regression") return [(w1 / length) * view.perX, (-w2 / length) * view.perY];
    return w2 ? [view.perX, (w1 / w2) * view.perY] : [0, -view.perY];
  }

  draw(view) {
    const foot = this.line && this.footAt();
    if (!foot) return void fill(this.layer);
    const { state } = this.app.store;
    const isCurve = state.model === "regression";
    const theta = coefficients(this.line);
    const arm = this.arm();
    const far = Math.hypot(...arm);
    // The handle stays within reach, though its place may be beyond the frame.
    const reach = isCurve ? ARM * view.unit : clamp(far, SHORTEST * view.unit, this.reach(foot, arm, far));
    this.ratio = far / reach;
    const tip = foot.map((v, k) => v + (arm[k] * reach) / far);
    const around = isCurve || !state.show.margin ? [] : [-1, 1].map((side) => straight(view, theta, side, "own-line margin"));
    const slack = this.isAlone && this.reply.points.slack && this.reply.points.slack.length === state.points.length && state.show.slack ? slackLines(view, state, { ...this.app.answer, points: this.reply.points }, theta) : [];
    const [ux, uy] = arm.map((v) => v / far);
    const head = `M${tip}L${tip[0] - 13 * ux + 6 * uy} ${tip[1] - 13 * uy - 6 * ux}L${tip[0] - 13 * ux - 6 * uy} ${tip[1] - 13 * uy + 6 * ux}Z`;
    fill(this.drawn, slack, around, straight(view, theta, 0, "own-line"), isCurve ? null : [shape("line", { class: "own-theta", x1: foot[0], y1: foot[1], x2: tip[0] - 11 * ux, y2: tip[1] - 11 * uy }), shape("path", { class: "own-head", d: head })]);
    if (!this.foot.parentNode) fill(this.layer, this.drawn, this.foot, this.tip);
    this.tip.firstElementChild.toggleAttribute("hidden", isCurve);
    const valueText = `${isCurve ? `slope ${written(this.reply?.slope)}` : `θ = (${this.line.slice(0, 2).map((v) => written(v)).join(", ")}), θ₀ = ${written(this.line[2])}`}. ${this.reply?.sentence ?? ""}`;
    const place = (node, [x, y], label, now) => setAttributes(node, { transform: `translate(${x.toFixed(2)} ${y.toFixed(2)})`, "aria-label": label, "aria-valuenow": now.toFixed(3), "aria-valuetext": valueText });
    place(this.foot, foot, "A point on your line: arrows move it", view.toData(foot)[1]);
    place(this.tip, tip, isCurve ? "The slope of your line: arrows turn it" : "θ of your line: arrows left and right turn it, up and down change its length", (Math.atan2(-arm[1], arm[0]) * 180) / Math.PI);
    return undefined;
  }

  // How far from the foot a handle can be and still be in the frame.
  reach([x, y], [dx, dy], far) {
    const { left, right, top, bottom } = this.app.view;
    const along = (d, low, high, at) => (d > 0 ? (high - 12 - at) / d : d < 0 ? (low + 12 - at) / d : Infinity);
    return Math.max(SHORTEST, far * Math.min(along(dx, left, right, x), along(dy, top, bottom, y)));
  }

  // ---- by hand and by keys

  press(event, part) {
    event.stopPropagation();
    event.preventDefault();
    const node = event.currentTarget;
    node.setPointerCapture(event.pointerId);
    node.focus({ preventScroll: true });
    this.held = { part, foot: this.footAt(), ratio: this.ratio };
    this.app.store.begin();
  }

  drag(event) {
    if (!this.held) return;
    event.stopPropagation();
    const { app, held } = this;
    if (event.type === "pointermove") return void this.move(held.part, app.view.inside(app.pointer.at(event)), held);
    this.held = null;
    app.store.end();
  }

  move(part, [px, py], { foot, ratio }) {
    const { view, store } = this.app;
    const [w1, w2] = this.line;
    if (part === "foot") {
      this.near = view.toData([px, py]);
      return this.take([w1, w2, -(w1 * this.near[0] + w2 * this.near[1])]);
    }
    const [x, y] = (this.near = view.toData(foot));
    const [dx, dy] = [(px - foot[0]) / view.perX, (foot[1] - py) / view.perY];
    if (store.state.model === "regression") return Math.abs(px - foot[0]) > 2 && this.take([dy / dx, -1, y - (dy / dx) * x]);
    if (Math.hypot(px - foot[0], py - foot[1]) < 4) return undefined;
    const length = ratio * (dx * dx + dy * dy);
    return this.take([dx / length, dy / length, -(dx * x + dy * y) / length]);
  }

  key(event, part) {
    const arrow = ARROWS[event.key];
    if (!arrow || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const { view, store } = this.app;
    const foot = this.footAt();
    const many = event.shiftKey ? 5 : 1;
    store.begin();
    if (part === "foot") return void this.move(part, view.inside(foot.map((v, k) => v + 8 * many * arrow[k])), {});
    const [dx, dy] = this.arm();
    const isCurve = store.state.model === "regression";
    const turn = (isCurve ? arrow[0] + arrow[1] : arrow[0]) * TURN * many;
    const grown = isCurve ? 1 : GROWTH ** (arrow[1] * many);
    const [cos, sin] = [Math.cos(turn) * grown, Math.sin(turn) * grown];
    this.move(part, [foot[0] + dx * cos - dy * sin, foot[1] + dx * sin + dy * cos], { foot, ratio: 1 });
  }
}
