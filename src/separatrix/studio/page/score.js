// What is said below the picture: the fit in short, and the kernel's score under the pointer.
import { written } from "./numbers.js";

const RESTS = 120;
const MOST_STEPS = 1000;

// What is counted and measured of the step that is shown, in short.
export function countedFacts({ answer, isLast, step }, model) {
  const { mistakes, width, steps, points, test } = answer ?? {};
  const facts = [];
  const counted = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;
  // Of longer runs not all corrections are among the steps.
  if (steps?.visit && steps.count <= MOST_STEPS) facts.push(counted(steps.mistake.slice(0, step + 1).filter(Boolean).length, "correction"));
  // Until the frame of a step has come, what is known is of another.
  if (!isLast) return facts.join(" · ");
  const fitted = points?.mistake?.filter((one) => one !== null).length;
  // With points to test on, both errors stand below.
  if (!test && Number.isInteger(mistakes) && model !== "regression") facts.push(`${counted(mistakes, "mistake")} in ${counted(fitted, "point")}`);
  if (Number.isFinite(width)) facts.push(`the street is ${written(width, 4)} wide`);
  return facts.join(" · ");
}

// Where a unit across is not as long as a unit up, right angles are not seen as such.
export function distortedFact({ view, store, shown }) {
  const { show, model } = store.state;
  const seen = show.theta && model !== "regression" && shown.answer?.theta;
  return seen && Math.abs(Math.log(view.perX / view.perY)) > 0.05 ? "the axes have different scales, so θ does not look perpendicular to the line" : "";
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
