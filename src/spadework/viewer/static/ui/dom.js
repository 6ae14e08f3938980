// Elements from data. Text only ever becomes a text node: nothing that a model wrote is parsed as markup.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// The same for what is drawn.
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null && value !== undefined && value !== "") element.setAttribute(name, String(value));
  element.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// Text in which `backticks` mark code.
export function prose(text) {
  return String(text).split("`").map((part, place) => (place % 2 ? h("code", {}, part) : part));
}

// Control characters, lone surrogates, bidirectional overrides and what has no width: a reader must see that they are there.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
export const SHOWN = 20000;

// The text as nodes, with each hidden character shown by its code point.
export function visible(text) {
  const nodes = [];
  let from = 0;
  for (const match of String(text ?? "").matchAll(HIDDEN)) {
    if (match.index > from) nodes.push(text.slice(from, match.index));
    nodes.push(h("span", { class: "control" }, codePoint(match[0])));
    from = match.index + 1;
  }
  nodes.push(String(text ?? "").slice(from));
  return nodes;
}

function codePoint(character) {
  return "U+" + character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
}

// A hidden character as a label has it: in charts, options and titles, which hold no elements.
export function flat(text) {
  return String(text ?? "").replace(HIDDEN, codePoint);
}

// A block of text; a very long one is cut, with a button that shows the rest.
export function textBlock(text, label) {
  const whole = String(text ?? "");
  const block = h("pre", { class: "text", tabindex: "0", role: "group", "aria-label": label });
  if (whole.length <= SHOWN) {
    block.append(...visible(whole));
    return block;
  }
  block.append(...visible(whole.slice(0, SHOWN)));
  const more = h("button", { type: "button", onclick: () => { block.replaceChildren(...visible(whole)); more.remove(); } },
    `Show all ${whole.length.toLocaleString("en")} characters`);
  return h("div", {}, block, more);
}

// Pieces of highlighted source: [kind of token, text].
export function sourceBlock(pieces, label) {
  const text = pieces.map(([, piece]) => piece).join("");
  if (text.length > SHOWN) return textBlock(text, label);
  return h("pre", { class: "source", tabindex: "0", role: "group", "aria-label": label },
    pieces.map(([kind, piece]) => (kind ? h("span", { class: kind }, visible(piece)) : visible(piece))));
}

// A control under its label.
let fields = 0;
export function field(label, control) {
  control.id ||= `field-${++fields}`;
  return h("div", { class: "field" }, h("label", { for: control.id }, label), control);
}

export function facts(pairs) {
  return h("dl", { class: "facts" }, pairs.filter(Boolean).map(([name, ...value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

export function faultBox(fault) {
  return h("div", { class: "fault", role: "note" },
    h("strong", { class: "bad" }, visible(`${fault.kind} fault ${fault.code}`)), " ", visible(fault.message),
    fault.detail ? h("details", {}, h("summary", {}, "detail"), textBlock(fault.detail, "detail of the fault")) : null);
}

export function number(value, digits = 2) {
  return value === null || value === undefined ? "–" : value.toFixed(digits);
}

export function percent(value) {
  return value === null || value === undefined ? "–" : `${(100 * value).toFixed(1)} %`;
}

export function count(value) {
  return value === null || value === undefined ? "–" : value.toLocaleString("en");
}

// Where a step changed the state: a line for each place, what was there and what is there now.
export function changesBox(changes) {
  if (!changes?.length) return null;
  const value = (one) => h("code", {}, visible(one === null ? "nothing" : JSON.stringify(one).slice(0, 300)));
  return h("ul", { class: "small", "aria-label": "what changed" },
    changes.slice(0, 50).map((change) => h("li", {}, visible(change.where || "the state"), ": ", value(change.before), " → ", value(change.after))));
}
