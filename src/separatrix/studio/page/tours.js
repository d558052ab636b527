// Guided tours and lessons: the kernel's words, a state to begin with, a question with a check.
import { button, element, fill, identifier } from "./dom.js";

export class Tours {
  constructor(app) {
    this.app = app;
    const { tours = [], lessons = [], lesson } = app.model.get("seed_tables") ?? {};
    const entry = ({ name, title }) => element("li", {}, button(title, { kind: "plain", onclick: () => this.start(name) }));
    const id = identifier("tours");
    this.dialog = element(
      "dialog",
      { class: "dialog", "aria-labelledby": id },
      element("div", { class: "card-head" }, element("h2", { id }, "Tours and lessons"), button("Close", { picture: "close", onclick: () => this.dialog.close() })),
      tours.length ? element("h3", {}, "One-minute tours") : null,
      element("ol", { class: "entries" }, tours.map(entry)),
      lessons.length ? element("h3", {}, "Lessons of the course") : null,
      element("ol", { class: "entries" }, lessons.map(entry)),
    );
    this.node = element("section", { class: "card tour", "aria-label": "Tour", tabindex: "-1", hidden: true });
    this.order = [...tours, ...lessons];
    this.hasAny = this.order.length > 0;
    this.scroll = null;
    // Until something is changed.
    this.offer = button("Start a tour", { picture: "tour", text: true, kind: "offer", hidden: !(tours.length && app.isNew), hint: "What to drag and what to watch, in a minute", onclick: () => this.start(tours[0].name) });
    app.store.on(() => (this.offer.hidden = true));
    // The page begins with its state already; a link brings one of its own.
    if (lesson && !app.isReplay && !location.hash) queueMicrotask(() => this.start(lesson, true));
  }

  open() {
    this.dialog.showModal();
  }

  async start(name, isOpened = false) {
    this.dialog.close();
    const tour = await this.app.request({ type: "tour", name });
    if (!tour) return;
    if (!isOpened) this.app.store.change({ ...this.app.store.state, ...tour.state });
    const part = (label, text) => (text ? element("p", {}, element("strong", {}, label), ` ${text}`) : null);
    const verdict = element("p", { class: "verdict-sentence", role: "status" });
    const following = this.order[this.order.findIndex((one) => one.name === name) + 1];
    const next = following && button(`Next: ${following.title}`, { picture: "forward", text: true, kind: "next", onclick: () => this.start(following.name) });
    const answers = (tour.choices ?? []).map((choice, i) =>
      button(choice, {
        kind: "choice",
        onclick: (event) => {
          const right = i === tour.right;
          for (const node of answers) node.classList.remove("right", "wrong");
          event.currentTarget.classList.add(right ? "right" : "wrong");
          next?.classList.toggle("primary", right);
          fill(verdict, element("strong", {}, right ? "Yes. " : "Not quite. "), right ? (tour.why ?? "") : "Look again, and try another answer.");
        },
      }),
    );
    fill(
      this.node,
      element(
        "div",
        { class: "card-head" },
        element("h2", {}, tour.title),
        element(
          "div",
          { class: "group" },
          button("Begin the tour again", { picture: "first", onclick: () => this.start(name) }),
          button("Other tours", { picture: "tour", onclick: () => this.open() }),
          button("End the tour", { picture: "close", onclick: () => this.end() }),
        ),
      ),
      element(
        "div",
        { class: "tour-body" },
        element("div", {}, tour.claim ? element("p", { class: "claim" }, tour.claim) : null, part("Do:", tour.drag), part("Watch:", tour.watch)),
        element(
          "div",
          {},
          tour.question ? element("p", { class: "question" }, tour.question) : null,
          answers.length ? element("div", { class: "buttons" }, answers) : null,
          verdict,
          next,
        ),
      ),
    );
    this.node.hidden = false;
    if (isOpened) return;
    this.node.focus({ preventScroll: true });
    this.goTo(() => this.reveal());
  }

  // What is drawn with the first answer to a tour moves the page: the scroll is made again then.
  goTo(scroll) {
    this.scroll = scroll;
    scroll();
  }

  // In one column right below the picture, which stays in sight; otherwise it stands beside the controls.
  reveal() {
    const { node } = this.app.picture;
    if (getComputedStyle(node).position === "sticky") this.node.scrollIntoView({ block: "start" });
    else node.scrollIntoView({ block: "nearest" });
  }

  renew() {
    this.scroll?.();
    this.scroll = null;
  }

  // Where the reader goes before that answer is where the page stays.
  leaveFor(scroll) {
    if (this.scroll) this.goTo(scroll);
    else scroll();
  }

  end() {
    this.node.hidden = true;
    this.app.surface.focus();
  }
}
