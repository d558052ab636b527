// The bar on top: the name, undo and redo, tours, theme and keys.
import { button, element, fill, icon, shape } from "./dom.js";

const THEMES = ["auto", "light", "dark"];

function brandMark() {
  return shape(
    "svg",
    { class: "brand-mark", viewBox: "0 0 32 32", "aria-hidden": "true", focusable: "false" },
    shape("line", { x1: 5, y1: 29, x2: 27, y2: 3 }),
    shape("circle", { class: "class-0", cx: 7.5, cy: 9, r: 3.6 }),
    shape("circle", { class: "class-0", cx: 14, cy: 5, r: 2.4 }),
    shape("rect", { class: "class-1", x: 20.5, y: 19.5, width: 6.8, height: 6.8, rx: 1 }),
    shape("rect", { class: "class-1", x: 16, y: 25.5, width: 4.6, height: 4.6, rx: 0.8 }),
  );
}

export class Bar {
  constructor(app) {
    this.app = app;
    this.undo = button("Undo", { picture: "undo", hint: "Undo (Ctrl Z)", onclick: () => app.store.undo() });
    this.redo = button("Redo", { picture: "redo", hint: "Redo (Ctrl Y)", onclick: () => app.store.redo() });
    this.themeButton = button("Theme", { picture: "sun", onclick: () => this.nextTheme() });
    this.node = element(
      app.isWidget ? "div" : "header",
      { class: "bar" },
      brandMark(),
      element(app.isWidget ? "span" : "h1", { class: "brand" }, element("strong", {}, "separatrix"), element("span", {}, " studio")),
      app.isReplay ? null : [this.undo, this.redo],
      element("span", { class: "spacer" }),
      app.tours.hasAny && !app.isReplay ? button("Tours", { picture: "tour", text: true, onclick: () => app.tours.open() }) : null,
      this.themeButton,
      button("Help", { picture: "help", hint: "Help (?)", onclick: () => app.help.showModal() }),
    );
  }

  draw() {
    const { past, future } = this.app.store;
    this.undo.disabled = !past.length;
    this.redo.disabled = !future.length;
  }

  wear(theme) {
    const { app } = this;
    this.theme = THEMES.includes(theme) ? theme : "auto";
    app.root.dataset.theme = this.theme;
    if (!app.isWidget) document.documentElement.dataset.theme = this.theme;
    this.themeButton.setAttribute("aria-label", `Theme: ${this.theme}`);
    this.themeButton.title = `Theme: ${this.theme}`;
    fill(this.themeButton, icon(this.theme === "dark" ? "moon" : "sun"), this.theme === "auto" ? element("span", { class: "auto" }, "A") : null);
    app.colour();
  }

  nextTheme() {
    const theme = THEMES[(THEMES.indexOf(this.theme) + 1) % THEMES.length];
    this.wear(theme);
    this.app.model.set("theme", theme);
    this.app.model.save_changes();
  }
}
