// Where the parts of the page stand: the stage with the picture, the tour, and cards beside them.
import { button, element } from "./dom.js";

// In one column the buttons of this bar bring a part of the page below the picture, which stays.
function jumpBar(parts, tours) {
  const scroll = (node) => () => (node.querySelector(".transport") ?? node).scrollIntoView({ block: "start" });
  const go = (node) => () => tours.leaveFor(scroll(node));
  return element(
    "nav",
    { class: "jump", "aria-label": "Parts of the page" },
    parts.filter(([, , node]) => node).map(([kind, label, node]) => button(label, { kind, onclick: go(node) })),
  );
}

export function layOut(app) {
  const { bar, toolbar, picture, time, voice, tours, controls, panels, proof, data, out, heldOut, own } = app;
  // Of many points, Tab would have to walk through all.
  const past = button("Skip the points and go to the model", { kind: "skip", onclick: () => controls.chooser.focus() });
  const said = element("div", { class: "said" }, element("div", {}, heldOut.errors, voice.status), tours.offer);
  const region = (label) => ({ class: "side", role: "region", "aria-label": label });
  return [
    bar.node,
    element(
      "div",
      { class: "columns" },
      element(
        "div",
        { class: "front" },
        element(app.isWidget ? "div" : "main", { class: "stage" }, toolbar.node, past, picture.node, time.node, voice.alert, said, voice.live, own.node),
        tours.node,
      ),
      element("div", region("Model and second picture"), controls.node, panels.node),
      element("div", region("Proof, data and code"), proof.node, data?.node, app.isReplay ? null : heldOut.node, out.node),
    ),
    jumpBar([
      ["to-tour", "Tour", tours.node],
      ["to-steps", "Steps", time.node],
      ["", "Model", controls.node],
      ["", "Second picture", panels.node],
      ["", "Proof", proof.node],
      ["", "Data", data?.node],
      ["", "Test", app.isReplay ? null : heldOut.node],
      ["", "Export", out.node],
    ], tours),
    app.help,
    tours.dialog,
  ];
}
