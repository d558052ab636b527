// The names of the axes and of the classes, and how many classes there are.
import { button, element, fill } from "./dom.js";
import { keyMark } from "./marks.js";

export const MOST_CLASSES = 4;
const FRESH = ["-1", "+1", "third", "fourth"];
const LONGEST_NAME = 60;

export function withClass({ names }) {
  const { classes } = names;
  const name = [...FRESH.slice(classes.length), ...FRESH].find((one) => !classes.includes(one)) ?? `class ${classes.length + 1}`;
  return { names: { ...names, classes: [...classes, name] } };
}

// Without a class, and without its points.
export function withoutClass({ names, points }, gone) {
  return {
    names: { ...names, classes: names.classes.filter((_, c) => c !== gone) },
    points: points.filter(([, , c]) => c !== gone).map(([x, y, c]) => [x, y, c > gone ? c - 1 : c]),
  };
}

export class Names {
  constructor(app) {
    this.app = app;
    this.fields = element("div", { class: "names" });
    this.problem = element("p", { class: "problem", role: "alert" });
    this.node = element("details", {}, element("summary", {}, "Names and classes"), this.fields, this.problem);
  }

  draw() {
    const { names, model } = this.app.store.state;
    const made = JSON.stringify([names, model === "regression"]);
    if (this.made === made) return;
    this.made = made;
    const inputs = () => [...this.fields.querySelectorAll("input, button")];
    const focused = inputs().indexOf(document.activeElement);
    const classes = model === "regression" ? [] : names.classes;
    fill(
      this.fields,
      this.field("Axis across", names.x, (text) => ({ x: text })),
      this.field("Axis up", names.y, (text) => ({ y: text })),
      classes.map((name, c) => this.field(`Class ${c + 1}`, name, (text) => this.renamed(c, text), c)),
      classes.length && classes.length < MOST_CLASSES ? button("One more class", { picture: "plus", text: true, onclick: () => this.app.addClass() }) : null,
    );
    if (focused >= 0) inputs()[Math.min(focused, inputs().length - 1)]?.focus();
  }

  field(label, value, patch, c = null) {
    const input = element("input", { type: "text", maxlength: LONGEST_NAME, "aria-label": `Name of ${label.toLowerCase()}`, spellcheck: "false" });
    input.value = value;
    input.addEventListener("change", () => this.take(input, value, patch));
    const { length } = this.app.store.state.names.classes;
    const remove = c !== null && length > 2 ? button(`Remove class ${value} and its points`, { picture: "trash", onclick: () => this.app.removeClass(c) }) : null;
    return element("div", { class: "name-row" }, c === null ? element("span", { class: "name-label" }, label) : keyMark(c), input, remove);
  }

  renamed(c, text) {
    const classes = this.app.store.state.names.classes.slice();
    if (classes.some((name, k) => k !== c && name === text)) throw new Error(`There is a class ${text} already; two need two names.`);
    classes[c] = text;
    return { classes };
  }

  take(input, before, patch) {
    this.problem.textContent = "";
    const { store } = this.app;
    const text = input.value.trim();
    try {
      if (text) store.change({ names: { ...store.state.names, ...patch(text) } });
      else input.value = before;
    } catch (error) {
      this.problem.textContent = error.message;
      input.value = before;
    }
  }
}
