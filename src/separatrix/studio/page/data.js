// Where points come from and go to: built-in shapes, a table's columns, pasted text.
import { button, element, fill, identifier } from "./dom.js";
import { Names } from "./names.js";

export function toCsv({ points, names, model }) {
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const flat = model === "regression";
  const head = flat ? [names.x, names.y] : [names.x, names.y, "class"];
  const rows = points.map(([x, y, c]) => (flat ? [x, y] : [x, y, names.classes[c]]));
  return [head, ...rows].map((row) => row.map((v) => quoted(String(v))).join(",")).join("\n").concat("\n");
}

// As far as numbers go that the kernel takes.
const FARTHEST_PLACE = 1e9;
const LONGEST_CLASS = 200;

function isNumeric(cell) {
  return cell !== "" && Number.isFinite(Number(cell));
}

// The lines with their numbers; a line break within quotes ends none, unless the quotes never end.
function linesOf(text) {
  const plain = text.split(/\r?\n/);
  const joined = [];
  let open = false;
  for (const [i, part] of plain.entries()) {
    if (open) joined.at(-1)[0] += `\n${part}`;
    else joined.push([part, i + 1]);
    if (part.split('"').length % 2 === 0) open = !open;
  }
  const lines = open ? plain.map((line, i) => [line, i + 1]) : joined;
  return lines.map(([line, at]) => [line.trim(), at]).filter(([line]) => line);
}

// The cells of a line; in quotes, what cuts cells is a letter like others.
function cells(line, cut) {
  if (!line.includes('"')) return line.split(cut).map((cell) => cell.trim());
  const found = line.matchAll(new RegExp(`(?:^|${cut.source})\\s*(?:"((?:[^"]|"")*)"\\s*|(.*?))(?=${cut.source}|$)`, "g"));
  return [...found].map(([, quoted, plain]) => (quoted === undefined ? plain.trim() : quoted.replaceAll('""', '"')));
}

function shortText(text) {
  return text.length > 30 ? `${text.slice(0, 30)}…` : text;
}

function readRow(row, at, width) {
  if (row.length !== width) throw new Error(`Line ${at} has ${row.length} columns, and the first has ${width}.`);
  for (const cell of row.slice(0, 2)) {
    if (!isNumeric(cell)) throw new Error(`Line ${at} has ${cell ? `"${shortText(cell)}"` : "nothing"} where a number should be.`);
    if (Math.abs(Number(cell)) > FARTHEST_PLACE) throw new Error(`Line ${at} has ${shortText(cell)}, which is beyond a billion.`);
  }
  const name = row[2] ?? "";
  if (name.length > LONGEST_CLASS) throw new Error(`Line ${at} names a class with more than ${LONGEST_CLASS} letters.`);
  return [Number(row[0]), Number(row[1]), name];
}

// Two columns of numbers, and a third that names the class. Throws a sentence where it cannot be.
export function fromCsv(text, limit) {
  const lines = linesOf(text);
  if (!lines.length) throw new Error("There is nothing to read: paste lines of two numbers and a class.");
  const cut = /\t/.test(lines[0][0]) ? /\t/ : /;/.test(lines[0][0]) ? /;/ : /,/.test(lines[0][0]) ? /,/ : /\s+/;
  const rows = lines.map(([line, at]) => [cells(line, cut), at]);
  const width = rows[0][0].length;
  if (width < 2 || width > 3) throw new Error(`The first line has ${width} columns; there should be two of numbers, and perhaps a third with the class.`);
  const head = rows[0][0].slice(0, 2).some(isNumeric) ? [] : rows.shift()[0];
  if (!rows.length) throw new Error("There is a line of names, but no line of numbers below it.");
  if (rows.length > limit) throw new Error(`There are ${rows.length} rows; the studio takes at most ${limit}.`);
  const points = rows.map(([row, at]) => readRow(row, at, width));
  const classes = [...new Set(points.map(([, , name]) => name))];
  if (classes.length > 4) throw new Error(`There are ${classes.length} classes in the third column; the studio takes at most 4.`);
  const sorted = classes.toSorted((a, b) => (isNumeric(a) && isNumeric(b) ? Number(a) - Number(b) : a < b ? -1 : 1));
  const names = sorted.length > 1 ? sorted : sorted[0] ? [sorted[0], sorted[0] === "+1" ? "-1" : "+1"] : ["-1", "+1"];
  return {
    points: points.map(([x, y, name]) => [x, y, Math.max(0, names.indexOf(name))]),
    names: { x: head[0]?.slice(0, LONGEST_CLASS) || "x1", y: head[1]?.slice(0, LONGEST_CLASS) || "x2", classes: names },
  };
}

export class Data {
  constructor(app) {
    this.app = app;
    const id = identifier("data");
    const tables = app.model.get("seed_tables") ?? {};
    this.seed = 0;
    this.known = tables.shapes ?? [];
    const { name, n = 60, noise = 0.8 } = tables.begun ?? {};
    this.shapes = element("select", { id, onchange: () => this.settings() }, this.known.map(({ name, label }) => element("option", { value: name }, label)));
    this.shapes.value = name ?? this.known[0]?.name ?? "";
    this.n = element("input", { type: "number", min: 4, max: app.limits.points, value: n, class: "number", id: `${id}-n` });
    this.noise = element("input", { type: "range", min: 0, max: 1, step: 0.02, value: noise, id: `${id}-noise` });
    this.columns = element("div", { class: "from-table" });
    this.better = element("div", { class: "better", role: "status" });
    this.text = element("textarea", { id: `${id}-text`, rows: 5, spellcheck: "false", placeholder: "x1,x2,class\n0.5,1.2,-1\n2.0,0.3,+1" });
    this.problem = element("p", { class: "problem", role: "alert" });
    this.names = new Names(app);
    this.node = element(
      "section",
      { class: "card", "aria-labelledby": `${id}-title` },
      element("h2", { id: `${id}-title` }, "Data"),
      this.columns,
      element("div", { class: "row" }, element("label", { for: id }, "Shape"), this.shapes),
      element("div", { class: "row" }, element("label", { for: `${id}-n` }, "New points"), this.n),
      element("div", { class: "row" }, element("label", { for: `${id}-noise` }, "Noise"), this.noise),
      element("div", { class: "buttons" }, button("Make points", { onclick: () => this.make(), kind: "primary" }), button("New sample", { onclick: () => this.make(true), hint: "The same shape, drawn anew from the next seed" })),
      this.names.node,
      element(
        "details",
        {},
        element("summary", {}, "Paste and copy"),
        element("label", { for: `${id}-text` }, "Two columns of numbers, a third with the class"),
        this.text,
        this.problem,
        element("div", { class: "buttons" }, button("Use these", { onclick: () => this.paste() }), button("Copy points", { onclick: () => app.voice.copy(toCsv(app.store.state), "The points") })),
      ),
    );
    this.settings();
    this.drawColumns(tables);
    app.model.on("change:seed_tables", () => this.drawColumns(app.model.get("seed_tables") ?? {}));
  }

  // Of a shape that is fixed neither the number of points nor the noise can be chosen.
  settings() {
    const shape = this.known.find(({ name }) => name === this.shapes.value);
    this.n.disabled = this.noise.disabled = Boolean(shape?.fixed);
  }

  drawColumns({ columns = [], target, axes = [], note }) {
    if (columns.length < 2) return void fill(this.columns);
    const id = identifier("column");
    const choose = (k) => {
      const select = element("select", { id: `${id}-${k}`, onchange: () => this.take() }, columns.map((name) => element("option", { value: name }, name)));
      select.value = axes[k] ?? columns[k];
      return select;
    };
    this.across = choose(0);
    this.up = choose(1);
    this.rows = element("p", { class: "note", role: "status" }, note ?? "");
    fill(
      this.columns,
      element("p", { class: "note" }, target ? `Columns of the table; the classes are the values of ${target}.` : "Columns of the table."),
      element("div", { class: "row" }, element("label", { for: `${id}-0` }, "Across"), this.across),
      element("div", { class: "row" }, element("label", { for: `${id}-1` }, "Up"), this.up),
      element("div", { class: "buttons" }, button("Use these columns", { onclick: () => this.take() })),
      this.rows,
      this.better,
    );
    // Once the fit has been asked for, which is seen first.
    if (columns.length > 2) queueMicrotask(() => this.compare());
    return undefined;
  }

  // Two columns that separate the classes better than those that are shown.
  async compare() {
    const reply = await this.app.request({ type: "axes", x: this.across.value, y: this.up.value });
    const show = () => {
      [this.across.value, this.up.value] = reply.axes;
      this.take();
    };
    fill(this.better, reply?.sentence ? [element("p", { class: "note" }, reply.sentence), button(`Show ${reply.axes.join(" and ")}`, { onclick: show })] : null);
  }

  use({ points, names, view, source = null }) {
    const { store, view: at } = this.app;
    const origin = source ? { source } : this.app.heldOut.fromNowhere;
    const next = { points, names: { ...store.state.names, ...names }, ...origin };
    next.view = view ?? at.fitted(points, { anew: true });
    store.change(next);
    this.app.voice.announce(`${points.length} points.`);
  }

  async make(next = false) {
    if (next) this.seed += 1;
    const message = { type: "shape", name: this.shapes.value, n: Number(this.n.value), noise: Number(this.noise.value), seed: this.seed };
    const reply = await this.app.request(message);
    if (reply) this.use(reply);
  }

  async take() {
    const reply = await this.app.request({ type: "columns", x: this.across.value, y: this.up.value });
    if (!reply) return;
    this.use(reply);
    fill(this.rows, reply.note ?? "");
    this.compare();
  }

  paste() {
    this.problem.textContent = "";
    try {
      this.use(fromCsv(this.text.value, this.app.limits.points));
    } catch (error) {
      this.problem.textContent = error.message;
    }
  }
}
