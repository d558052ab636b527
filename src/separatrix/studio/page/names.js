// The names of the axes and of the classes, and how many classes there are.
import { button, element, fill, setAttributes } from "./dom.js";
import { keyMark } from "./marks.js";

export const MOST_CLASSES = 4;
const FRESH = ["-1", "+1", "third", "fourth"];
const LONGEST_NAME = 60;

function withClass({ names }) {
  const { classes } = names;
  const name = [...FRESH.slice(classes.length), ...FRESH].find((one) => !classes.includes(one)) ?? `class ${classes.length + 1}`;
  return { names: { ...names, classes: [...classes, name] } };
}

// Without a class, and without its points.
function withoutClass({ names, points }, gone) {
  return {
    names: { ...names, classes: names.classes.filter((_, c) => c !== gone) },
    points: points.filter(([, , c]) => c !== gone).map(([x, y, c]) => [x, y, c > gone ? c - 1 : c]),
  };
}

export function addClass(app) {
  app.store.change(withClass(app.store.state));
  app.takeClass(app.store.state.names.classes.length - 1);
}

function removeClass(app, c) {
  const { points, names } = app.store.state;
  const n = points.filter((point) => point[2] === c).length;
  app.store.change(withoutClass(app.store.state, c));
  app.voice.say(`Class ${names.classes[c]} and its ${n} points were removed; Undo restores them.`);
}

export class Names {
  constructor(app) {
    this.app = app;
    this.fields = element("div", { class: "names" });
    this.problem = element("p", { class: "problem", role: "alert" });
    this.node = element("details", {}, element("summary", {}, "Names and classes"), this.fields, this.problem);
  }

  // The fields stay while names change: who writes in one goes on in the next.
  draw() {
    const { names, model } = this.app.store.state;
    const classes = model === "regression" ? [] : names.classes;
    if (this.made !== classes.length) {
      this.made = classes.length;
      const more = classes.length && classes.length < MOST_CLASSES;
      fill(
        this.fields,
        this.field("Axis across", () => this.app.store.state.names.x, (text) => ({ x: text })),
        this.field("Axis up", () => this.app.store.state.names.y, (text) => ({ y: text })),
        classes.map((_, c) => this.field(`Class ${c + 1}`, () => this.app.store.state.names.classes[c], (text) => this.renamed(c, text), c)),
        more ? button("Add a class", { picture: "plus", text: true, onclick: () => addClass(this.app) }) : null,
      );
    }
    for (const row of this.fields.querySelectorAll(".name-row")) row.refresh();
  }

  field(label, value, patch, c = null) {
    const input = element("input", { type: "text", maxlength: LONGEST_NAME, "aria-label": `Name of ${label.toLowerCase()}`, spellcheck: "false" });
    input.addEventListener("change", () => this.take(input, value(), patch));
    const remove = c !== null && this.made > 2 ? button("Remove", { picture: "trash", onclick: () => removeClass(this.app, c) }) : null;
    const row = element("div", { class: "name-row" }, c === null ? element("span", { class: "name-label" }, label) : keyMark(c), input, remove);
    row.refresh = () => {
      input.value = value();
      if (remove) setAttributes(remove, { "aria-label": `Remove class ${value()} and its points`, title: `Remove class ${value()} and its points` });
    };
    return row;
  }

  renamed(c, text) {
    const classes = this.app.store.state.names.classes.slice();
    if (classes.some((name, k) => k !== c && name === text)) throw new Error(`Another class is already called ${text}; choose a different name.`);
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
