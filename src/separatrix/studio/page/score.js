// What is said of the place under the pointer: the kernel's score there.
import { written } from "./numbers.js";

const RESTS = 120;

export class Score {
  constructor(app) {
    this.app = app;
  }

  stop() {
    clearTimeout(this.waiting);
  }

  // `near` is the point that the pointer is at, -1 between points; no place where it has left.
  at(place, near = -1) {
    const { app } = this;
    if (near !== app.pointed) app.point(near);
    this.stop();
    if (!place || near >= 0 || app.isReplay || !app.answer) return;
    const { names } = app.store.state;
    const [x, y] = app.view.rounded(place);
    this.waiting = setTimeout(async () => {
      const reply = await app.request({ type: "score", state: app.sentState(), at: [x, y] });
      if (!reply || app.pointed >= 0) return;
      const where = `${names.x} ${written(x, 4)}, ${names.y} ${written(y, 4)}`;
      app.voice.say([where, reply.sentence ?? `score ${written(reply.score)}`].join(" · "));
    }, RESTS);
  }
}
