// The model and its parameters: controls that are made from the kernel's table.
import { element, fill, identifier } from "./dom.js";
import { clamp, written } from "./numbers.js";
import { Features } from "./lift.js";
import { Strength } from "./strength.js";

const SHOWN = {
  field: "shading",
  margin: "margins",
  slack: "slack",
  support: "support vectors",
  ellipses: "ellipses",
  residuals: "residuals",
  theta: "θ",
};

// A field says what the model has: what is typed is clamped in it, too, and `tell` says so.
function numberField(spec, value, onvalue, tell, more = {}) {
  const input = element("input", { type: "number", step: "any", class: "number", ...more });
  const [low, high] = [spec.low ?? -Infinity, spec.high ?? Infinity];
  let known = value ?? "";
  input.put = (v) => (input.value = known = v);
  input.put(known);
  input.addEventListener("change", () => {
    const typed = input.value;
    const read = spec.kind === "int" ? Math.round(Number(typed)) : Number(typed);
    if (typed === "" || !Number.isFinite(read)) {
      input.put(known);
      return;
    }
    const taken = clamp(read, low, high);
    if (taken !== Number(typed)) tell(`${spec.label[0].toUpperCase()}${spec.label.slice(1)} must be ${spec.kind === "int" ? "a whole number " : ""}from ${written(low)} to ${written(high)}: ${typed} became ${taken}.`);
    input.put(taken);
    onvalue(taken);
  });
  return input;
}

function slider(spec, value, change, tell) {
  const log = spec.kind === "log";
  const to = (v) => (log ? Math.log10(v) : v);
  const from = (v) => (log ? Number((10 ** v).toPrecision(3)) : v);
  const [low, high] = [to(spec.low), to(spec.high)];
  const step = spec.kind === "int" ? 1 : log ? 0.02 : (high - low) / 100;
  const range = element("input", { type: "range", min: low, max: high, step, "aria-label": spec.label });
  const slide = (v) => {
    range.value = to(v);
    range.setAttribute("aria-valuetext", written(Number(v)));
  };
  slide(value ?? spec.default);
  const take = (v) => {
    slide(v);
    change(v, true);
  };
  const field = numberField(spec, value, take, tell, { "aria-label": `${spec.label}, as a number` });
  range.addEventListener("input", () => {
    const read = spec.kind === "int" ? Number(range.value) : from(Number(range.value));
    const rounded = spec.kind === "linear" ? Number(read.toPrecision(4)) : read;
    field.put(rounded);
    range.setAttribute("aria-valuetext", written(rounded));
    change(rounded, false);
  });
  range.addEventListener("change", () => change(null, true));
  return element("span", { class: "range-row" }, range, field);
}

// One control: `change(value, done)`; `done` ends a step of undo.
function control(spec, value, change, tell) {
  const id = identifier(spec.name);
  const choose = (v) => change(v, true);
  if (spec.kind === "bool") {
    const box = element("input", { type: "checkbox", id, role: "switch", onchange: () => choose(box.checked) });
    box.checked = Boolean(value);
    return element("label", { class: "row switch", for: id, title: spec.help }, box, spec.label);
  }
  let body;
  if (spec.kind === "choice") {
    const choices = spec.choices.map((c) => (Array.isArray(c) ? { value: c[0], label: c[1] } : typeof c === "object" ? c : { value: c, label: c }));
    body = element("select", { id, onchange: () => choose(choices[body.selectedIndex].value) }, choices.map((c) => element("option", {}, String(c.label))));
    body.selectedIndex = choices.findIndex((c) => c.value === value);
  } else if (spec.kind === "vector") {
    const values = [...(value ?? spec.default ?? [0, 0, 0])];
    const parts = ["θ₁", "θ₂", "b"];
    const set = (k) => (v) => {
      values[k] = v;
      choose([...values]);
    };
    body = element("span", { class: "vector", role: "group", "aria-label": spec.label }, values.map((v, k) => element("label", {}, parts[k] ?? k + 1, numberField(spec, v, set(k), tell, { id: k ? null : id, "aria-label": `${spec.label}, ${parts[k] ?? k + 1}` }))));
  } else if (Number.isFinite(spec.low) && Number.isFinite(spec.high) && (spec.kind !== "int" || spec.high - spec.low <= 2000)) {
    body = slider(spec, value, change, tell);
    body.firstElementChild.id = id;
  } else body = numberField(spec, value, choose, tell, { id });
  return element("div", { class: "row", title: spec.help }, element("label", { for: id }, spec.label), body);
}

export class Controls {
  constructor(app) {
    this.app = app;
    const id = identifier("model");
    this.models = app.model.get("models") ?? [];
    this.chooser = element("select", { id, class: "model-chooser", onchange: () => this.choose(this.chooser.value) }, this.models.map(({ name, label }) => element("option", { value: name }, label)));
    this.help = element("p", { class: "note" });
    this.parameters = element("fieldset", { class: "parameters", disabled: app.isReplay });
    this.shown = element("fieldset", { class: "shown" });
    this.strength = new Strength(app);
    this.features = new Features(app);
    this.node = element(
      "section",
      { class: "card", "aria-labelledby": `${id}-title` },
      element("h2", { id: `${id}-title` }, "Model"),
      element("label", { class: "hidden", for: id }, "Model"),
      this.chooser,
      this.help,
      this.parameters,
      this.features.node,
      this.shown,
    );
    this.made = null;
  }

  specs() {
    const { model, store } = this.app;
    return (model.get("parameters") ?? []).filter((spec) => spec.model === store.state.model);
  }

  choose(name) {
    const { store, model } = this.app;
    const kinds = ((model.get("panels") ?? {})[name] ?? []).map(({ kind }) => kind);
    const { panel } = store.state;
    store.change({ model: name, parameters: {}, panel: kinds.includes(panel) ? panel : (kinds[0] ?? "none") });
  }

  set(name, value, done) {
    const { store } = this.app;
    store.begin();
    if (value !== null) {
      this.own = true;
      store.change({ parameters: { ...store.state.parameters, [name]: value } });
      this.own = false;
    }
    if (done) store.end();
  }

  draw() {
    const { store } = this.app;
    const { state } = store;
    this.chooser.value = state.model;
    this.help.textContent = this.models.find(({ name }) => name === state.model)?.help ?? "";
    if (!this.own) {
      const specs = this.specs();
      const focused = this.parameters.contains(document.activeElement) ? [...this.parameters.querySelectorAll("input, select")].indexOf(document.activeElement) : -1;
      this.rows = specs.map((spec) => control(spec, state.parameters[spec.name] ?? spec.default, (value, done) => this.set(spec.name, value, done), (text) => this.app.voice.problem(text)));
      fill(this.parameters, this.rows);
      const strength = this.rows[specs.findIndex(({ name }) => name === "C")];
      strength?.after(this.strength.node);
      if (focused >= 0) this.parameters.querySelectorAll("input, select")[focused]?.focus();
    }
    this.hideIdle();
    this.features.draw();
    this.drawShown();
  }

  // Of parameters, those stay that mean something beside the others.
  hideIdle() {
    const specs = this.specs();
    const { parameters } = this.app.store.state;
    const value = (name) => parameters[name] ?? specs.find((spec) => spec.name === name)?.default;
    specs.forEach((spec, k) => {
      const means = Object.entries(spec.when ?? {}).every(([name, values]) => values.includes(value(name)));
      this.rows[k].hidden = !means;
    });
  }

  drawShown() {
    const { store, model } = this.app;
    const means = (model.get("show") ?? {})[store.state.model] ?? Object.keys(SHOWN);
    if (this.made !== means.join()) {
      this.made = means.join();
      fill(
        this.shown,
        element("legend", {}, "Show"),
        means.filter((name) => SHOWN[name]).map((name) => {
          const box = element("input", { type: "checkbox", "data-show": name, onchange: () => store.change({ show: { ...store.state.show, [name]: box.checked } }) });
          return element("label", { class: "chip" }, box, SHOWN[name]);
        }),
      );
    }
    for (const box of this.shown.querySelectorAll("input")) box.checked = Boolean(store.state.show[box.dataset.show]);
  }
}
