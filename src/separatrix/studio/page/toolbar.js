// Tools, classes and the view's buttons beside the canvas.
import { button, element, fill, identifier } from "./dom.js";
import { keyMark, keyOfClasses } from "./marks.js";
import { MOST_CLASSES, addClass } from "./names.js";

const TOOLS = [
  ["point", "Point", "Add and drag points (v)"],
  ["brush", "Brush", "Brush many points (b)"],
  ["erase", "Erase", "Erase points (e)"],
  ["pan", "Move", "Move the picture (h)"],
];

export class Toolbar {
  constructor(app) {
    this.app = app;
    const id = identifier("tools");
    this.tools = TOOLS.map(([name, label, hint]) => button(label, { picture: name, kind: "tool", hint, "aria-pressed": false, "data-tool": name, onclick: () => app.takeTool(name) }));
    this.classes = element("div", { class: "group classes", role: "group", "aria-label": app.isReplay ? "Classes" : "Class of new points" });
    // Without one scale each axis is fitted to its own data, and right angles do not look right.
    this.lock = button("Equal axes", {
      picture: "lock",
      text: true,
      kind: "lock",
      hint: "One scale for both axes, so that right angles look right; otherwise each axis is fitted to its data",
      "aria-pressed": false,
      onclick: () => app.equalise(!app.store.state.view.lock),
    });
    this.clear = button("Erase all points", { picture: "trash", onclick: () => app.store.change({ points: [], ...app.heldOut.fromNowhere }) });
    this.node = element(
      "div",
      { class: "toolbar", id, role: "group", "aria-label": "Tools of the canvas" },
      app.isReplay ? null : element("div", { class: "group", role: "group", "aria-label": "Tool" }, this.tools),
      this.classes,
      element(
        "div",
        { class: "group end", role: "group", "aria-label": "View" },
        button("Zoom in", { picture: "plus", onclick: () => app.zoom(0.8) }),
        button("Zoom out", { picture: "minus", onclick: () => app.zoom(1.25) }),
        button("Show all points", { picture: "fit", onclick: () => app.fit() }),
        this.lock,
        app.isReplay ? null : this.clear,
      ),
    );
  }

  draw() {
    const { app } = this;
    const { names, view, model } = app.store.state;
    for (const node of this.tools) node.setAttribute("aria-pressed", node.dataset.tool === app.tool);
    this.lock.setAttribute("aria-pressed", view.lock);
    const made = JSON.stringify([names.classes, model === "regression"]);
    if (this.made !== made) {
      this.made = made;
      const nodes = names.classes.map((name, c) =>
        element("button", { type: "button", class: "button class", title: `Class ${name} (${c + 1})`, "aria-label": `Class ${name}`, "data-class": c, onclick: () => app.takeClass(c) }, keyMark(c), element("span", {}, name)),
      );
      const more = names.classes.length < MOST_CLASSES && !app.isReplay ? button("Add a class", { picture: "plus", onclick: () => addClass(app) }) : null;
      const chosen = app.isReplay ? keyOfClasses(names.classes) : [nodes, more];
      fill(this.classes, model === "regression" ? null : chosen);
    }
    for (const node of this.classes.querySelectorAll("[data-class]")) node.setAttribute("aria-pressed", Number(node.dataset.class) === app.currentClass);
  }
}
