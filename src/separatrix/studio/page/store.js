// The one state of the page, who is told of its changes, and the history behind undo.
import { isSame } from "./numbers.js";

const LONGEST_HISTORY = 200;

export const EMPTY_STATE = {
  version: 1,
  points: [],
  names: { x: "x1", y: "x2", classes: ["-1", "+1"] },
  view: { x: [-4, 4], y: [-4, 4], lock: true },
  model: "logistic",
  parameters: {},
  panel: "none",
  test: { hold_out: 0, fresh: false, seed: 0 },
  source: null,
  lift: [],
  show: { field: true, margin: true, slack: true, support: true, ellipses: true, residuals: true, theta: true },
  line: null,
};

export class Store {
  constructor(state) {
    this.state = { ...EMPTY_STATE, ...state };
    this.listeners = new Set();
    this.past = [];
    this.future = [];
    this.open = null;
  }

  on(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  tell(parts) {
    for (const listener of this.listeners) listener(this.state, parts);
  }

  // A change is one step of undo; changes between `begin` and `end` are one together.
  change(patch, { keep = true } = {}) {
    const before = this.state;
    const next = { ...before, ...patch };
    const parts = Object.keys(patch).filter((key) => !isSame(before[key], next[key]));
    if (!parts.length) return;
    if (keep && this.open === null) this.remember(before);
    this.state = next;
    this.tell(parts);
  }

  begin() {
    if (this.open === null) this.open = this.state;
  }

  end() {
    const before = this.open;
    this.open = null;
    if (before !== null && before !== this.state && !isSame(before, this.state)) {
      this.remember(before);
      this.tell(["history"]);
    }
  }

  remember(state) {
    this.past.push(state);
    if (this.past.length > LONGEST_HISTORY) this.past.shift();
    this.future = [];
  }

  undo() {
    this.walk(this.past, this.future);
  }

  redo() {
    this.walk(this.future, this.past);
  }

  walk(from, to) {
    if (!from.length || this.open !== null) return;
    to.push(this.state);
    const state = from.pop();
    const parts = Object.keys(state).filter((key) => !isSame(this.state[key], state[key]));
    this.state = state;
    this.tell([...parts, "history"]);
  }
}
