// Talk with the kernel: the newest question only, one in flight; replies by their number.
// A notebook's kernel answers all pages that show a widget: a page's numbers are its own.
const FARTHEST_FIRST = 2 ** 40;

export class Kernel {
  constructor(model, { onanswer, onframe, onproblem, onthinking, onbusy }) {
    this.model = model;
    this.seq = Math.floor(Math.random() * FARTHEST_FIRST);
    this.answered = 0;
    this.asked = null;
    this.next = null;
    this.framed = null;
    this.nextFrame = null;
    this.open = new Map();
    this.listen = (message) => this.receive(message);
    this.back = () => this.again();
    this.does = { onanswer, onframe, onproblem, onthinking, onbusy };
    model.on("msg:custom", this.listen);
    model.on("host:back", this.back);
  }

  send(message) {
    this.seq += 1;
    this.model.send({ ...message, seq: this.seq });
    return this.seq;
  }

  // What is asked while an answer is awaited waits, and only the last of it.
  ask(state, drags = false) {
    if (this.asked) {
      this.next = { state, drags };
      return;
    }
    this.nextFrame = null;
    this.asked = { seq: this.send({ type: "ask", state, drags }), state, drags };
    this.does.onbusy(true);
  }

  frame(step) {
    if (this.framed || this.asked) {
      this.nextFrame = step;
      return;
    }
    this.framed = { seq: this.send({ type: "frame", step, of: this.answered }), step };
  }

  request(message, onthinking) {
    return new Promise((resolve) => this.post({ message, resolve, onthinking }));
  }

  post(request) {
    this.open.set(this.send(request.message), request);
  }

  // Nobody answers what was sent over a connection that is lost, and nobody clicks a second time for it.
  again() {
    const lost = this.asked;
    this.asked = null;
    this.framed = null;
    const unanswered = [...this.open.values()];
    this.open.clear();
    for (const request of unanswered) this.post(request);
    if (lost && !this.next) this.next = lost;
    this.after();
  }

  after() {
    if (this.next) {
      const { state, drags } = this.next;
      this.next = null;
      this.ask(state, drags);
    } else if (!this.asked) {
      this.does.onbusy(false);
      if (this.nextFrame !== null && !this.framed) {
        const step = this.nextFrame;
        this.nextFrame = null;
        this.frame(step);
      }
    }
  }

  receive(message) {
    const { type, seq } = message;
    const waits = this.open.get(seq);
    if (type === "thinking") {
      if (waits?.onthinking) waits.onthinking(message.text);
      else if (seq === this.asked?.seq) this.does.onthinking(message.text);
      return;
    }
    if (waits) {
      this.open.delete(seq);
      if (type === "error") this.does.onproblem(message.text);
      waits.resolve(["error", "replaced"].includes(type) ? null : message);
      return;
    }
    if (seq === this.asked?.seq) {
      const { state } = this.asked;
      this.asked = null;
      this.framed = null;
      if (type === "answer") this.answered = seq;
      if (type === "answer") this.does.onanswer(message, state, !this.next);
      else if (type === "error") this.does.onproblem(message.text, true);
      this.after();
    } else if (seq === this.framed?.seq) {
      this.framed = null;
      if (type === "frame") this.does.onframe(message);
      this.after();
    }
  }

  close() {
    this.model.off("msg:custom", this.listen);
    this.model.off("host:back", this.back);
  }
}
