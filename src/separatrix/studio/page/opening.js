// How a page opens that shows nobody's points: steps play at once, where motion is welcome, and a
// line in the picture says what a hand can do there, until something is done.
import { button, element } from "./dom.js";

const PACE = 200;

export class Opening {
  constructor(app) {
    const { moving } = app.model.get("seed_tables") ?? {};
    if (!moving || !app.isNew) return;
    this.app = app;
    this.isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const click = matchMedia("(pointer: coarse)").matches ? "Tap" : "Click";
    this.node = element("p", { class: "opening" }, `${click} adds a point, drag moves one.`, this.isStill ? button("Play", { picture: "play", text: true, onclick: () => app.time.toggle() }) : null);
    app.picture.node.append(this.node);
    this.forget = app.store.on(() => this.end());
  }

  // With the first answer there are steps to play.
  begin() {
    if (!this.node || this.hasBegun) return;
    this.hasBegun = true;
    this.app.time.pace.value = PACE;
    if (!this.isStill) this.app.time.play();
  }

  end() {
    const { time } = this.app;
    this.forget();
    this.node.remove();
    time.pause();
    time.show(time.count - 1);
  }
}
