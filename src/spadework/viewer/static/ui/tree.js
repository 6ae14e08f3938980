// Relatives through memory as a tree: what an environment was written from at its left, what was written from it at its right.

import { flat, h, number, svg, visible } from "ui/dom.js";
import { inkOn, rateColour } from "ui/timeline.js";

const WIDE = 168, TALL = 34, ACROSS = 220, DOWN = 44, MOST = 8, DEEP = 3;

export function familyTree(data, hrefOf) {
  if (!data.ancestors.length && !data.descendants.length) return h("p", { class: "soft" }, "It was written from no example, and nothing was written from it.");
  const self = { id: data.id, known: true, name: data.name, cycle: data.cycle, unhinted: data.unhinted, regret: data.regret, parents: data.parents };
  const columns = [...data.ancestors.slice(0, DEEP).map(pick).reverse(), [self], ...data.descendants.slice(0, DEEP).map(pick)];
  const rows = Math.max(...columns.map((column) => column.length)), places = new Map();
  columns.forEach((column, across) => column.forEach((one, down) => places.set(one.id, { one, x: 4 + across * ACROSS, y: 4 + (down + (rows - column.length) / 2) * DOWN })));
  const lines = [...places.values()].flatMap(({ one, x, y }) => (one.parents ?? []).filter((parent) => places.has(parent) && parent !== one.id).map((parent) => line(places.get(parent), { x, y })));
  const drawing = svg("svg", { width: columns.length * ACROSS - ACROSS + WIDE + 8, height: rows * DOWN + 4, class: "tree", role: "group", "aria-label": "relatives through memory" }, lines, [...places.values()].map((place) => node(place, data.id, hrefOf)));
  const all = (generations) => generations.reduce((sum, generation) => sum + generation.length, 0), total = all(data.ancestors) + all(data.descendants);
  const shown = places.size - 1;
  return h("div", {}, h("p", { class: "soft small" }, `An arrow leads from an example in the designer's prompt to what was written from it; the colour is the win rate. ${all(data.ancestors)} ancestors, ${all(data.descendants)} descendants${shown < total ? `, of which the nearest ${shown} are drawn` : ""}.`),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "tree of relatives" }, drawing), shown < total ? list(data, hrefOf) : null);
}

function pick(generation) { return generation.slice(0, MOST); }

function node({ one, x, y }, self, hrefOf) {
  const name = one.name || one.id, label = name.length > 22 ? `${name.slice(0, 21)}…` : name, about = one.known ? `cycle ${one.cycle + 1}, win rate ${number(one.unhinted)}` : "not of this run";
  const inside = [svg("title", {}, flat(`${name} (${one.id})\n${about}`)), svg("rect", { x, y, width: WIDE, height: TALL, rx: 6, fill: rateColour(one.known ? one.unhinted : null), class: one.id === self ? "self" : "" }),
    svg("text", { x: x + 8, y: y + 14, class: "label", fill: inkOn(one.unhinted) }, flat(label)), svg("text", { x: x + 8, y: y + 27, class: "tick", fill: inkOn(one.unhinted) }, about)];
  return one.known && one.id !== self ? svg("a", { href: hrefOf(one.id), "aria-label": flat(`${name}, ${about}`) }, inside) : svg("g", {}, inside);
}

function line(from, to) {
  const start = [from.x + WIDE, from.y + TALL / 2], end = [to.x, to.y + TALL / 2], bend = Math.max(24, Math.abs(end[0] - start[0]) / 2);
  return svg("path", { class: "kin-line", d: `M ${start} C ${start[0] + bend},${start[1]} ${end[0] - bend},${end[1]} ${end}` });
}

// Everyone, by generation, where the drawing has room for some alone.
function list(data, hrefOf) {
  const generation = (title, one) => h("li", {}, `${title}: `, one.map((own, place) => [place ? ", " : "", own.known ? h("a", { href: hrefOf(own.id) }, visible(own.name || own.id)) : visible(own.id)]));
  return h("details", {}, h("summary", {}, "all of them"), h("ul", { class: "small" }, data.ancestors.map((one, place) => generation(`${place + 1} before`, one)), data.descendants.map((one, place) => generation(`${place + 1} after`, one))));
}
