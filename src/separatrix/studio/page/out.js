// What leaves the page: code, model file, pictures, data, and a link.
import { button, element, fill, identifier, setAttributes, shape } from "./dom.js";
import { toCsv } from "./data.js";
import { toFragment } from "./share.js";

const INKED = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity", "font-family", "font-size", "font-style", "font-weight", "visibility", "paint-order"];
const LONG_LINK = 8000;

// What the picture shows, for those who do not see it.
function describePicture({ store, answer }) {
  const { points, names, model } = store.state;
  const counted = names.classes.map((name, c) => [points.filter((point) => point[2] === c).length, name]).filter(([n]) => n);
  const of = model === "regression" ? `${points.length}` : counted.map(([n, name]) => `${n} of class ${name}`).join(", ");
  return [`Points: ${of}; ${names.x} across, ${names.y} up.`, answer?.certificate?.sentence].filter(Boolean).join(" ");
}

// The picture as one SVG that needs no style sheet, with the field as an image in it.
export function pictureSvg(app) {
  const { surface, view } = app;
  const { canvas, node: sheet } = app.picture;
  const copy = surface.cloneNode(true);
  const [from, to] = [surface.querySelectorAll("*"), copy.querySelectorAll("*")];
  from.forEach((node, i) => {
    const style = getComputedStyle(node);
    for (const name of INKED) to[i].setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "tabindex", "role", "aria-label", "aria-roledescription", "aria-valuenow", "aria-valuetext", "data-index", "data-part"]) to[i].removeAttribute(name);
  });
  for (const node of copy.querySelectorAll("[visibility=hidden]")) node.remove();
  for (const name of ["class", "tabindex", "aria-label", "aria-roledescription", "data-tool"]) copy.removeAttribute(name);
  const words = [["title", `Separatrix studio: ${app.controls.chooser.selectedOptions[0]?.text ?? ""}`], ["desc", describePicture(app)]].map(([tag, text]) => shape(tag, { id: `picture-${tag}` }, text));
  setAttributes(copy, { role: "img", "aria-labelledby": "picture-title", "aria-describedby": "picture-desc" });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", view.width);
  copy.setAttribute("height", view.height);
  copy.setAttribute("viewBox", `0 0 ${view.width} ${view.height}`);
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  paper.setAttribute("width", "100%");
  paper.setAttribute("height", "100%");
  paper.setAttribute("fill", getComputedStyle(sheet).backgroundColor);
  const field = document.createElementNS("http://www.w3.org/2000/svg", "image");
  for (const [name, value] of Object.entries({ width: view.width, height: view.height, href: canvas.toDataURL("image/png") })) field.setAttribute(name, value);
  copy.prepend(...words, paper, field);
  return new XMLSerializer().serializeToString(copy);
}

async function picturePng(app) {
  const image = new Image();
  const address = URL.createObjectURL(new Blob([pictureSvg(app)], { type: "image/svg+xml" }));
  try {
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [2 * app.view.width, 2 * app.view.height];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  } finally {
    URL.revokeObjectURL(address);
  }
}

export function download(name, blob) {
  const address = URL.createObjectURL(blob);
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

export class Out {
  constructor(app) {
    this.app = app;
    const id = identifier("out");
    this.python = element("pre", { tabindex: "0", role: "group", "aria-label": "Python" });
    this.command = element("pre", { tabindex: "0", role: "group", "aria-label": "Command" });
    this.pythonPart = element("div", {}, this.heading("Python", () => this.python.textContent), this.python);
    this.modelFile = app.isReplay ? null : button("Model file", { onclick: () => this.save("model") });
    this.commandPart = element("div", {}, this.heading("Command", () => this.command.textContent), this.command);
    this.linkNote = element("p", { class: "note", role: "status" });
    this.node = element(
      "section",
      { class: "card", "aria-labelledby": id },
      element("h2", { id }, "Export"),
      element(
        "div",
        { class: "buttons" },
        button("Link", { picture: "link", text: true, onclick: () => this.link() }),
        button("PNG", { onclick: async () => download("studio.png", await picturePng(app)) }),
        button("SVG", { onclick: () => download("studio.svg", new Blob([pictureSvg(app)], { type: "image/svg+xml" })) }),
        button("CSV", { onclick: () => download("points.csv", new Blob([toCsv(app.store.state)], { type: "text/csv" })) }),
        this.modelFile,
        app.isReplay ? null : button("Worksheet", { hint: "One file with the steps of this fit, and room for notes", onclick: () => this.save("worksheet") }),
      ),
      this.linkNote,
      this.pythonPart,
      this.commandPart,
    );
  }

  heading(name, text) {
    return element("div", { class: "card-head" }, element("h3", {}, name), button(`Copy ${name === "Python" ? "the Python code" : "the command"}`, { onclick: () => this.app.voice.copy(text(), name === "Python" ? "The Python code" : "The command") }));
  }

  draw() {
    const code = this.app.answer?.code;
    fill(this.python, code?.python ?? "");
    fill(this.command, code?.command ?? "");
    this.pythonPart.hidden = !code?.python;
    this.commandPart.hidden = !code?.command;
    if (this.modelFile) this.modelFile.disabled = !this.app.answer;
  }

  link() {
    const fragment = toFragment(this.app.store.state);
    const address = location.protocol === "http:" && !this.app.isWidget ? `${location.href.split("#")[0]}${fragment}` : fragment;
    if (!this.app.isWidget) history.replaceState(null, "", fragment);
    this.app.voice.copy(address, "The link");
    const { length } = this.app.store.state.points;
    this.linkNote.textContent =
      `The link carries ${length} points in ${fragment.length} letters, with places rounded to 1/5000 of the picture.` +
      (fragment.length > LONG_LINK ? " Some programs cut links that long: send the CSV instead." : "");
  }

  async save(what) {
    const reply = await this.app.request({ type: "save", what, state: this.app.sentState() });
    if (!reply) return;
    const bytes = Uint8Array.from(atob(reply.data), (letter) => letter.charCodeAt(0));
    download(reply.name, new Blob([bytes], { type: reply.mime }));
  }
}
