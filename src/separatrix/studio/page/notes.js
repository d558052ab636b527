// A worksheet: the recorded steps one below the other, each with a sketch, its formula and a field to
// write in; what was written is kept in the file itself, where the page is saved again.
import { button, element, fill, identifier, shape } from "./dom.js";
import { View } from "./view.js";
import { drawLines } from "./lines.js";
import { markPath } from "./marks.js";
import { download } from "./out.js";

const SKETCH = [260, 200];

function sketchOf({ state, answer, frames }, step, isEnd) {
  const view = new View(state.view);
  view.resize(...SKETCH);
  const frame = isEnd ? null : frames?.[step];
  const { theta, visit } = answer.steps ?? {};
  const shown = {
    answer: frame || !isEnd ? { ...answer, points: {}, ellipses: [], ...frame } : answer,
    isLast: isEnd || Boolean(frame?.lines),
    theta: isEnd ? null : (frame?.theta ?? theta?.[step] ?? null),
  };
  const lines = shape("g", {});
  drawLines(lines, view, state, shown);
  const known = shown.answer.points?.mistake ?? [];
  const points = state.points.map(([x, y, c], i) => {
    const form = state.model === "regression" ? 0 : c;
    const visited = !isEnd && visit?.[step] === i;
    return shape("g", { class: `point class-${form}${known[i] ? " mistaken" : ""}${visited ? " visited" : ""}`, transform: `translate(${view.toPixels([x, y])})` }, shape("path", { class: "halo", d: markPath(form, 8) }), shape("path", { class: "mark", d: markPath(form, 4.5) }), shape("path", { class: "cross", d: "M-2 -2L2 2M2 -2L-2 2" }));
  });
  const { width, height, viewBox } = view.frame;
  return shape("svg", { class: "sketch", width, height, viewBox, "aria-hidden": "true" }, lines, points);
}

export class Notes {
  constructor(app) {
    const { steps: chosen, written = {} } = app.model.get("notes") ?? {};
    if (!app.isReplay || !chosen) return;
    const { take } = app.model;
    const { steps } = take.answer;
    const id = identifier("notes");
    this.app = app;
    this.fields = new Map();
    const entry = (step) => {
      const name = steps ? `${steps.label} ${step}` : "the fit";
      const field = element("textarea", { rows: 4, "aria-label": `My note on ${name}`, placeholder: "What happens here, and why?" });
      field.value = written[step] ?? "";
      this.fields.set(step, field);
      const there = steps ? button(`Show ${name}`, { onclick: () => this.show(step) }) : null;
      return element("li", {}, sketchOf(take, step, !steps || step === steps.count - 1), element("div", {}, element("h3", {}, name), element("p", { class: "note-formula" }, steps?.formula?.[step] ?? ""), field, there));
    };
    const save = button("Save with my notes", { kind: "primary", onclick: () => this.save() });
    const note = element("p", { class: "note" }, "Write beside each step. The button saves this page as a file that holds what you wrote; it can be opened, changed and saved again, or printed.");
    app.root.append(element("section", { class: "card notes", "aria-labelledby": id }, element("div", { class: "card-head" }, element("h2", { id }, "My notes"), save), note, fill(element("ol", {}), chosen.map(entry))));
  }

  show(step) {
    this.app.time.show(step);
    this.app.picture.node.scrollIntoView({ block: "nearest" });
  }

  // The page as it was, with other notes in its recording.
  save() {
    const page = document.documentElement.cloneNode(true);
    const holder = page.querySelector("#recording");
    const recording = JSON.parse(holder.textContent);
    recording.traits.notes.written = Object.fromEntries([...this.fields].map(([step, { value }]) => [step, value]).filter(([, value]) => value));
    holder.textContent = JSON.stringify(recording).replaceAll("<", "\\u003c");
    page.querySelector("#studio").replaceChildren();
    download("worksheet.html", new Blob([`<!doctype html>\n${page.outerHTML}`], { type: "text/html" }));
  }
}
