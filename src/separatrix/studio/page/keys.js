// The keyboard: what each key does, in one table, which is also the help.
import { button, element, identifier } from "./dom.js";

export function shortcuts(app) {
  const tool = (name) => () => app.takeTool(name);
  const all = [
    { keys: ["v"], says: "point tool: add and drag points", run: tool("point"), draws: true },
    { keys: ["b"], says: "brush tool: add many points", run: tool("brush"), draws: true },
    { keys: ["e"], says: "eraser tool: erase points", run: tool("erase"), draws: true },
    { keys: ["h"], says: "move tool: move the picture", run: tool("pan"), draws: true },
    { keys: ["1", "2", "3", "4"], says: "choose the class of new points, or of the focused point", run: (key) => app.takeClass(Number(key) - 1), draws: true },
    { keys: ["+", "="], shown: "+", says: "zoom in", run: () => app.zoom(0.8) },
    { keys: ["-"], says: "zoom out", run: () => app.zoom(1.25) },
    { keys: ["0"], says: "show all points", run: () => app.fit() },
    { keys: ["p"], says: "play or pause the steps", run: () => app.time.toggle() },
    { keys: ["."], says: "one step forward", run: () => app.time.walk(1) },
    { keys: [","], says: "one step back", run: () => app.time.walk(-1) },
    { keys: [">"], says: "next correction of a perceptron", run: () => app.time.correct(1) },
    { keys: ["<"], says: "previous correction", run: () => app.time.correct(-1) },
    { keys: ["["], says: "first step", run: () => app.time.show(0) },
    { keys: ["]"], says: "last step", run: () => app.time.show(app.time.count - 1) },
    { keys: ["l"], says: "draw a line of your own, or go to it", run: () => app.own.start(), draws: true },
    { keys: ["Escape"], says: "return to the canvas", run: () => app.surface.focus() },
    { keys: ["m"], says: "go to the model, past the points", run: () => app.controls.chooser.focus() },
    { keys: ["?"], says: "show this help", run: () => app.help.showModal() },
  ];
  // An exported page shows, and changes nothing.
  return app.isReplay ? all.filter(({ draws }) => !draws) : all;
}

const ELSEWHERE = [["Tab", "go to the canvas, then from point to point"]];

const DRAWS = [
  ["arrows", "move the focused point, or the crosshair of the canvas; farther with Shift"],
  ["Enter", "add a point at the crosshair"],
  ["Delete", "erase the focused point"],
  ["Ctrl Z", "undo"],
  ["Ctrl Y", "redo"],
];

const HANDS = [
  ["click", "adds a point of the chosen class"],
  ["drag", "moves a point, or brushes, erases or moves the picture, as the tool says"],
  ["rest on a point", "shows its margin, and its slack, residual or multiplier α where the model has them"],
  ["rest elsewhere", "shows the score at that place"],
  ["Ctrl wheel", "zooms in and out, as two fingers do on a touch screen"],
];

const DRAWN = [
  ["line", "the boundary; dashed: the margin lines with the street between them, or the targets of least squares"],
  ["shading", "the side of each class, stronger where the model is more certain"],
  ["arrow θ", "the weights, perpendicular to the boundary where both axes have the same scale"],
  ["larger mark", "several points at one place; its area grows with their number"],
  ["×", "a mistake: a point on the wrong side"],
  ["hollow mark", "a point to test on: the model is not fitted to it"],
  ["ring", "a support vector; dashed: its α is at its limit C"],
  ["red ring", "the point that this step visits"],
  ["dotted line", "slack: how far a point is short of its margin line"],
  ["squares", "squared residuals"],
  ["purple line", "a line of your own: drag the ring on it, or the tip of its θ"],
  ["ellipses", "contours that hold half and nine tenths of each Gaussian"],
];

export function helpDialog(app) {
  const id = identifier("keys");
  const list = (entries, mark = "span") => element("dl", { class: "keys" }, entries.flatMap(([name, says]) => [element("dt", {}, mark === "kbd" ? name.split(" ").map((key) => element("kbd", {}, key)) : name), element("dd", {}, says)]));
  const rows = [...shortcuts(app).map(({ keys, shown, says }) => [shown ?? keys.join(" "), says]), ...ELSEWHERE, ...(app.isReplay ? [] : DRAWS)];
  const dialog = element(
    "dialog",
    { class: "dialog", "aria-labelledby": id },
    element("div", { class: "card-head" }, element("h2", { id }, "Help"), button("Close", { picture: "close", onclick: () => dialog.close() })),
    app.isReplay ? null : [element("h3", {}, "By mouse or finger"), list(HANDS)],
    element("h3", {}, "Keys"),
    list(rows, "kbd"),
    element("h3", {}, "What is drawn"),
    list(DRAWN),
  );
  return dialog;
}

export function listenToKeys(app, target) {
  const table = new Map(shortcuts(app).flatMap(({ keys, run }) => keys.map((key) => [key, run])));
  const listen = (event) => {
    if (app.root.querySelector("dialog[open]")) return;
    const writes = event.target.matches?.("input:not([type=range], [type=checkbox], [type=radio]), textarea, select");
    if (writes && event.key !== "Escape") return;
    const key = event.key.toLowerCase();
    if (event.ctrlKey || event.metaKey) {
      if (key === "z" && !event.shiftKey) app.store.undo();
      else if (key === "y" || (key === "z" && event.shiftKey)) app.store.redo();
      else return;
    } else if (event.altKey) return;
    else if (table.has(event.key)) table.get(event.key)(event.key);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  target.addEventListener("keydown", listen);
  return () => target.removeEventListener("keydown", listen);
}
