// What stands in for a notebook: AFM's six methods over a WebSocket, or over a recording.
import { isSame } from "./numbers.js";

const FIRST_RETRY = 400;
const LONGEST_RETRY = 4000;

class Host {
  constructor(values) {
    this.values = values;
    this.changed = {};
    this.listeners = new Map();
  }

  get(name) {
    return this.values[name];
  }

  set(name, value) {
    this.values[name] = value;
    this.changed[name] = value;
    this.emit(`change:${name}`);
  }

  on(event, callback) {
    if (!this.listeners.has(event)) this.listeners.set(event, new Set());
    this.listeners.get(event).add(callback);
  }

  off(event, callback) {
    if (callback) this.listeners.get(event)?.delete(callback);
    else this.listeners.delete(event);
  }

  emit(event, ...rest) {
    for (const callback of this.listeners.get(event) ?? []) callback(...rest);
  }
}

export class SocketHost extends Host {
  constructor(address) {
    super({});
    this.address = address;
    this.retry = FIRST_RETRY;
    this.waiting = [];
    this.isClosed = false;
    this.ready = new Promise((resolve) => (this.resolve = resolve));
    this.connect();
  }

  connect() {
    const socket = new WebSocket(this.address);
    this.socket = socket;
    socket.addEventListener("message", ({ data }) => this.receive(JSON.parse(data)));
    socket.addEventListener("close", () => {
      this.hasTraits = false;
      if (this.isClosed) return;
      this.emit("host:lost");
      setTimeout(() => this.connect(), this.retry);
      this.retry = Math.min(1.5 * this.retry, LONGEST_RETRY);
    });
  }

  receive(message) {
    if (message.type === "custom") return this.emit("msg:custom", message.content, []);
    if (message.type !== "traits") return undefined;
    const first = !this.hasTraits;
    const again = first && this.wasReady;
    this.hasTraits = true;
    this.wasReady = true;
    this.retry = FIRST_RETRY;
    for (const [name, value] of Object.entries(message.values)) {
      if (again && name === "state") continue;
      if (isSame(this.values[name], value)) continue;
      this.values[name] = value;
      this.emit(`change:${name}`);
    }
    if (!first) return undefined;
    this.resolve();
    if (again) {
      // The page asks anew; after that, older questions would be taken for the newest.
      this.waiting = [];
      this.emit("host:back");
    }
    for (const text of this.waiting.splice(0)) this.socket.send(text);
    return undefined;
  }

  transmit(message) {
    const text = JSON.stringify(message);
    if (this.hasTraits && this.socket.readyState === WebSocket.OPEN) this.socket.send(text);
    else if (this.waiting.length < 50) this.waiting.push(text);
  }

  save_changes() {
    const values = this.changed;
    this.changed = {};
    if (Object.keys(values).length) this.transmit({ type: "traits", values });
  }

  send(content) {
    this.transmit({ type: "custom", content });
  }

  close() {
    this.isClosed = true;
    this.socket.close();
  }
}

// An exported page: the fits that were recorded, played again, without a kernel.
export class ReplayHost extends Host {
  constructor({ traits, takes }) {
    super({ replay: true, ...traits, state: traits.state ?? takes[0].state });
    this.takes = takes;
    this.take = takes[0];
  }

  save_changes() {
    this.changed = {};
  }

  choose({ model, parameters }) {
    const same = this.takes.filter((take) => take.state.model === model);
    return same.find((take) => isSame(take.state.parameters, parameters)) ?? same[0] ?? this.takes[0];
  }

  reply(message) {
    const { type, seq } = message;
    if (type === "ask") {
      this.take = this.choose(message.state);
      const { answer, panels, state, view } = this.take;
      const panel = panels?.[message.state.panel] ?? null;
      return { ...answer, panel, state, view, type: "answer", seq };
    }
    if (type === "frame") {
      return { ...this.take.frames?.[message.step], type: "frame", seq, step: message.step };
    }
    if (type === "prove") {
      const proof = this.take.proofs?.[message.what];
      if (proof) return { ...proof, type: "proof", seq, what: message.what };
    }
    if (type === "score") return null;
    return { type: "error", seq, text: "This page only replays recorded fits; the studio itself makes new ones." };
  }

  send(message) {
    const content = this.reply(message);
    if (content) setTimeout(() => this.emit("msg:custom", content, []), 0);
  }
}

export function startReplay(recording, el, render) {
  return render({ model: new ReplayHost(recording), el });
}

export async function startServed(el, render) {
  const address = new URL(`ws${location.search}`, location.href);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  address.hash = "";
  const host = new SocketHost(address.href);
  await host.ready;
  return render({ model: host, el });
}
