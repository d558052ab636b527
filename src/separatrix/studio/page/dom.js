// Elements in one line each. No text is ever read as markup.
const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

function furnish(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

export function element(tag, attributes, ...children) {
  return furnish(document.createElement(tag), attributes, children);
}

export function shape(tag, attributes, ...children) {
  return furnish(document.createElementNS(SVG_NAMESPACE, tag), attributes, children);
}

export function fill(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

export function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) node.removeAttribute(name);
    else node.setAttribute(name, value === true ? "" : value);
  }
}

// Reuse the children of `parent`, one for each item: what has focus keeps it.
export function reconcile(parent, items, make, update) {
  while (parent.children.length > items.length) parent.lastElementChild.remove();
  items.forEach((item, i) => {
    let node = parent.children[i];
    if (!node) {
      node = make(item, i);
      parent.append(node);
    }
    update(node, item, i);
  });
}

let lastIdentifier = 0;
export function identifier(stem) {
  lastIdentifier += 1;
  return `separatrix-${stem}-${lastIdentifier}`;
}

const ICONS = {
  undo: "M9 7 4 12l5 5M4 12h10a6 6 0 0 1 0 12h-3",
  redo: "m19 7 5 5-5 5M24 12H14a6 6 0 0 0 0 12h3",
  first: "M8 6v16M22 6 11 14l11 8z",
  back: "M20 6 9 14l11 8z",
  play: "M9 5.5v17l14-8.5z",
  pause: "M10 6v16M18 6v16",
  forward: "m8 6 11 8-11 8z",
  last: "M20 6v16M6 6l11 8-11 8z",
  before: "M24 6 14 14l10 8zM4 10l7 8M11 10l-7 8",
  next: "m4 6 10 8-10 8zM17 10l7 8M24 10l-7 8",
  point: "M14 9a5 5 0 1 0 .01 0M14 2v4M14 22v4M2 14h4M22 14h4",
  brush: "M17 4l7 7-9 8-6-6zM9 13l6 6c-1 4-6 5-10 4 2-2 1-4 4-10z",
  erase: "M16 5l8 8-10 10h-6l-4-4zM10 11l8 8M14 23h10",
  pan: "M14 3v22M3 14h22M14 3l-3 3M14 3l3 3M14 25l-3-3M14 25l3-3M3 14l3-3M3 14l3 3M25 14l-3-3M25 14l-3 3",
  plus: "M14 6v16M6 14h16",
  minus: "M6 14h16",
  fit: "M5 10V5h5M18 5h5v5M23 18v5h-5M10 23H5v-5",
  trash: "M6 8h16M11 8V5h6v3M8 8l1 15h10l1-15M12 12v7M16 12v7",
  lock: "M8 13h12v10H8zM10.5 13V9a3.5 3.5 0 0 1 7 0v4",
  sun: "M14 9.5a4.5 4.5 0 1 0 .01 0M14 3v2.5M14 22.5V25M3 14h2.5M22.5 14H25M6.2 6.2 8 8M20 20l1.8 1.8M6.2 21.8 8 20M20 8l1.8-1.8",
  moon: "M22 17.5A9 9 0 1 1 11 5.5a7.5 7.5 0 0 0 11 12z",
  help: "M10 10.5a4 4 0 1 1 6 3.4c-1.5.9-2 1.6-2 3.1M14 21.5v.1",
  link: "M12 16a5 5 0 0 0 7 0l4-4a5 5 0 0 0-7-7l-2 2M16 12a5 5 0 0 0-7 0l-4 4a5 5 0 0 0 7 7l2-2",
  close: "M7 7l14 14M21 7 7 21",
  check: "M5 15l6 6L23 8",
  tour: "M14 3.5a10.5 10.5 0 1 0 .01 0M18.5 9.5l-2.6 6.4-6.4 2.6 2.6-6.4z",
};

export function icon(name) {
  return shape(
    "svg",
    { class: "icon", viewBox: "0 0 28 28", "aria-hidden": "true", focusable: "false" },
    shape("path", { d: ICONS[name] }),
  );
}

export function button(label, { picture, onclick, hint, kind = "", text = false, ...more } = {}) {
  return element(
    "button",
    {
      type: "button",
      class: `button ${picture && !text ? "only-icon" : ""} ${kind}`,
      "aria-label": picture && !text ? label : null,
      title: hint ?? (picture && !text ? label : null),
      onclick,
      ...more,
    },
    picture ? icon(picture) : null,
    text || !picture ? element("span", {}, label) : null,
  );
}
