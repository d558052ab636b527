// What the page says in words: a line of status, problems and hints, and what only listeners hear.
import { element } from "./dom.js";

const FORGETS = 8000;

export class Voice {
  constructor(root) {
    this.root = root;
    this.status = element("p", { class: "status" });
    this.alert = element("p", { class: "alert", role: "alert", hidden: true });
    this.live = element("p", { class: "hidden", role: "status" });
  }

  say(text) {
    this.status.textContent = text;
  }

  problem(text, { stays = false, hint = false } = {}) {
    this.alert.textContent = text;
    this.alert.classList.toggle("hint", hint);
    this.alert.hidden = false;
    this.stays = stays;
    clearTimeout(this.forgetting);
    if (!stays) this.forgetting = setTimeout(() => (this.alert.hidden = true), FORGETS);
  }

  // What stays until there is an answer.
  calm() {
    if (this.stays) this.alert.hidden = true;
  }

  announce(text) {
    this.live.textContent = text;
  }

  async copy(text, what) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = element("textarea", { class: "hidden", "aria-hidden": "true" });
      area.value = text;
      this.root.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    this.announce(`${what}: copied.`);
    this.say(`${what}: copied.`);
  }
}
