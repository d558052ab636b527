// What is said below the picture: the fit in short, and the kernel's score under the pointer.
import { written } from "./numbers.js";

const RESTS = 120;
const MOST_STEPS = 1000;

// What is counted and measured of a fit, in short.
export function countedFacts(answer, model) {
  const { mistakes, width } = answer ?? {};
  const facts = [];
  // Of longer runs not all corrections are among the steps.
  const corrections = answer?.steps?.visit && answer.steps.count <= MOST_STEPS ? answer.steps.mistake.filter(Boolean).length : null;
  if (corrections !== null) facts.push(corrections === 1 ? "1 correction" : `${corrections} corrections`);
  if (Number.isInteger(mistakes) && model !== "regression") facts.push(mistakes === 1 ? "1 mistake" : `${mistakes} mistakes`);
  if (Number.isFinite(width)) facts.push(`the street is ${written(width, 4)} wide`);
  return facts.join(" · ");
}

export class Score {
  constructor(app) {
    this.app = app;
  }

  // Of another place, or of points that were fitted before, nobody wants to hear any more.
  stop() {
    clearTimeout(this.waiting);
    this.asked = null;
  }

  // `near` is the point that the pointer is at, -1 between points; no place where it has left.
  at(place, near = -1) {
    const { app } = this;
    if (near !== app.pointed) app.point(near);
    this.stop();
    if (!place || near >= 0 || app.isReplay || !app.answer) return;
    const { names } = app.store.state;
    const [x, y] = app.view.rounded(place);
    const asked = (this.asked = {});
    this.waiting = setTimeout(async () => {
      const reply = await app.request({ type: "score", state: app.sentState(), at: [x, y] });
      if (!reply || asked !== this.asked || app.pointed >= 0) return;
      const where = `${names.x} ${written(x, 4)}, ${names.y} ${written(y, 4)}`;
      app.voice.say([where, reply.sentence ?? `score ${written(reply.score)}`].join(" · "));
    }, RESTS);
  }
}
