// The state as Python has it: the widget's trait follows the page, and the page the trait.
import { isSame } from "./numbers.js";
import { EMPTY_STATE } from "./store.js";

const RESTED = 250;

export class Trait {
  constructor(app) {
    this.app = app;
  }

  // The trait follows when the hand rests; while it drags, only questions go out.
  settle() {
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.tell(), RESTED);
  }

  // A view is not told back that was widened to the shape of this picture alone: two pages of
  // different shapes would answer one another without an end.
  tell() {
    const { store, model } = this.app;
    if (store.open || isSame(store.state, this.settled)) return;
    this.settled = store.state;
    const state = this.app.sentState();
    this.told = state;
    model.set("state", state);
    model.save_changes();
  }

  tellAgain() {
    this.settled = null;
    this.tell();
  }

  adopt(state) {
    if (!state || isSame(state, this.told)) return;
    const { store } = this.app;
    this.told = state;
    store.change({ ...EMPTY_STATE, ...state });
    this.settled = store.state;
  }

  close() {
    clearTimeout(this.settling);
  }
}
