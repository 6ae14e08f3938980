// The curriculum over cycles: a bar for each environment from its entry to its end, coloured by how often it was won.

import { get, isReport } from "ui/api.js";
import { flat, h, number, svg } from "ui/dom.js";
import { picker, plainTable } from "ui/table.js";

const LANE = 24, BAR = 19, TOP = 64, COLUMN = 40;
const STOPS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
const ENDS = { mastered: ["★", "mastered"], hopeless: ["✕", "hopeless even with the hint"], failed: ["!", "its program failed"], replaced: ["›", "another took its slot"] };
const MEASURES = {
  unhinted: ["win rate without the hint", (cell) => cell[1]],
  hinted: ["win rate with the hint", (cell) => cell[2]],
  gap: ["hinted minus unhinted win rate, from −1 to 1", (cell) => (cell[1] === null || cell[2] === null ? null : (1 + cell[2] - cell[1]) / 2)],
};

export async function curriculum({ params, run, runName, keep, link }) {
  const asked = { first: params.first ?? "", last: params.last ?? "", by: params.by in MEASURES ? params.by : "unhinted" };
  const box = h("div", {}), table = h("details", {}, h("summary", {}, "figures by cycle")), said = h("p", { class: "soft small", role: "status" });
  const earlier = h("button", { type: "button", onclick: () => move(-1) }, "Earlier cycles"), later = h("button", { type: "button", onclick: () => move(1) }, "Later cycles");
  const bar = h("div", { class: "bar" }, picker("Coloured by", asked.by, Object.entries(MEASURES).map(([key, [text]]) => [key, text]), (value) => { asked.by = value; remember(); draw(); }),
    ...(isReport ? [] : [earlier, later]));
  let data = null;

  function remember() { keep({ ...asked, by: asked.by === "unhinted" ? "" : asked.by }); }

  async function move(way) {
    const span = data.last - data.first + 1, first = Math.max(0, Math.min(data.first + way * span, data.cycles - span));
    Object.assign(asked, { first: String(first), last: String(first + span - 1) });
    remember();
    await refresh();
  }

  async function refresh() {
    data = await get("timeline", { run, first: asked.first, last: asked.last });
    draw();
  }

  function draw() {
    earlier.disabled = data.first === 0;
    later.disabled = data.last >= data.cycles - 1;
    if (!data.environments.length) { box.replaceChildren(h("p", { class: "empty" }, "No environment was played yet; bars appear here as soon as a cycle is committed.")); return; }
    said.textContent = `${runName}, cycles ${data.first + 1} to ${data.last + 1} of ${data.cycles}: ${data.environments.length} environments. Point at a bar to see what it was written from, and what was written from it.`;
    box.replaceChildren(legend(asked.by), h("div", { class: "scroll timeline", tabindex: "0", role: "region", "aria-label": "timeline of the curriculum" }, picture(data, asked.by, (id) => link("environment", { run, id }))));
    table.replaceChildren(table.querySelector("summary"), plainTable(["cycle", "played", "entered", "learnable", "mastered", "hopeless", "failed", "replaced"],
      data.counts.map((one) => [one.cycle + 1, one.played, one.entered, one.learnable, one.mastered, one.hopeless, one.failed, one.replaced]), "environments by cycle"));
  }

  await refresh();
  return { nodes: [h("h1", {}, "Curriculum"), said, bar, box, table], refresh };
}

// A win rate from 0 to 1 as a colour (viridis, which colour-blind people can read, and which prints well).
export function rateColour(rate) {
  if (rate === null || rate === undefined) return "rgb(140, 150, 158)";
  const place = Math.max(0, Math.min(1, rate)) * (STOPS.length - 1), from = Math.min(STOPS.length - 2, Math.floor(place));
  return `rgb(${STOPS[from].map((value, channel) => Math.round(value + (place - from) * (STOPS[from + 1][channel] - value))).join(", ")})`;
}

export function inkOn(rate) { return rate === null || rate === undefined || rate > 0.6 ? "#111" : "#fff"; }

function legend(by) {
  const ramp = svg("svg", { width: 180, height: 14, "aria-hidden": "true" }, Array.from({ length: 36 }, (_, step) => svg("rect", { x: step * 5, y: 0, width: 5.5, height: 14, fill: rateColour(step / 35) })));
  const ends = Object.values(ENDS).map(([glyph, text]) => h("li", {}, h("b", {}, glyph), ` ${text}`));
  const [low, high] = by === "gap" ? ["−1", "1"] : ["0", "1"];
  return h("ul", { class: "keys ends" }, h("li", {}, `${MEASURES[by][0]}: ${low} `, ramp, ` ${high}`), by === "gap" ? null : h("li", {}, "learnable from 0.2 to 0.8"), h("li", {}, "grey: not played in that cycle"), ends);
}

function picture(data, by, hrefOf) {
  const cycles = data.last - data.first + 1, wide = Math.max(16, Math.min(96, Math.floor(1240 / cycles)));
  const x = (cycle) => 6 + (cycle - data.first) * wide, y = (lane) => TOP + lane * LANE;
  const width = x(data.last) + wide + 8, height = y(data.lanes) + 6;
  const kin = svg("g", { class: "kin-lines" }), bars = new Map();
  for (const one of data.environments) bars.set(one.id, barOf(one, { x, y, wide, by, href: hrefOf(one.id) }));
  const root = svg("svg", { width, height, class: "curriculum", role: "group", "aria-label": `${data.environments.length} environments over ${cycles} cycles` }, columns(data, x, wide), kin, ...bars.values());
  const known = new Map(data.environments.map((one) => [one.id, one]));
  const children = new Map();
  for (const one of data.environments) for (const parent of one.parents) children.set(parent, [...(children.get(parent) ?? []), one.id]);
  for (const [id, bar] of bars) {
    for (const event of ["mouseenter", "focus"]) bar.addEventListener(event, () => showKin(id));
    for (const event of ["mouseleave", "blur"]) bar.addEventListener(event, hideKin);
  }

  function showKin(id) {
    const parents = known.get(id).parents.filter((one) => bars.has(one)), own = children.get(id) ?? [];
    root.classList.add("focused");
    for (const one of [id, ...parents, ...own]) bars.get(one).classList.add("kin");
    kin.replaceChildren(...parents.map((one) => curve(known.get(one), known.get(id), x, y, wide)), ...own.map((one) => curve(known.get(id), known.get(one), x, y, wide)));
  }

  function hideKin() {
    root.classList.remove("focused");
    for (const bar of root.querySelectorAll(".kin")) bar.classList.remove("kin");
    kin.replaceChildren();
  }

  return root;
}

// Above the bars: how many environments were played in each cycle, and how many of them were learnable.
function columns(data, x, wide) {
  const most = Math.max(1, ...data.counts.map((one) => one.played)), every = Math.ceil(34 / wide);
  return data.counts.map((one, place) => svg("g", {},
    svg("rect", { class: "played", x: x(one.cycle) + 1, width: wide - 2, y: COLUMN - (34 * one.played) / most, height: (34 * one.played) / most, rx: 2 }),
    svg("rect", { class: "learnable", x: x(one.cycle) + 1, width: wide - 2, y: COLUMN - (34 * one.learnable) / most, height: (34 * one.learnable) / most, rx: 2 }),
    svg("title", {}, `cycle ${one.cycle + 1}: ${one.learnable} of ${one.played} learnable, ${one.entered} entered, ${one.mastered} mastered`),
    place % every ? null : svg("text", { x: x(one.cycle) + wide / 2, y: COLUMN + 15, "text-anchor": "middle", class: "tick" }, String(one.cycle + 1))));
}

function barOf(one, { x, y, wide, by, href }) {
  const top = y(one.lane), value = MEASURES[by][1], [first, end] = [one.cells[0][0], one.cells.at(-1)[0]];
  const start = x(first) + 2, length = x(end) + wide - 2 - start;
  const shades = one.cells.map((cell) => value(cell)), at = new Map(one.cells.map((cell) => [cell[0], value(cell)]));
  const cells = Array.from({ length: end - first + 1 }, (_, step) => {  // a cycle in which it was not played is grey
    const from = Math.max(start, x(first + step)), until = Math.min(start + length, x(first + step) + wide);
    return svg("rect", { x: from, y: top, width: until - from + (step < end - first ? 0.5 : 0), height: BAR, fill: rateColour(at.get(first + step)) });
  });
  const title = one.name || one.id, fits = Math.floor((length - 22) / 6.6), label = fits > 3 ? (title.length > fits ? `${title.slice(0, fits - 1)}…` : title) : "";
  const rates = one.cells.slice(-12).map(([cycle, own, hinted]) => `cycle ${cycle + 1}: ${number(own)}${hinted === null ? "" : `, hinted ${number(hinted)}`}`).join("\n");
  return svg("a", { href, "aria-label": flat(`${title}, entered in cycle ${one.cycle + 1}, ${one.why || one.state}`) },
    svg("title", {}, flat(`${title}\n${one.summary}\n${one.skill} · ${one.why || one.state}\n${rates}`)), cells,
    svg("rect", { class: "frame", x: start, y: top, width: length, height: BAR, rx: 4 }),
    label ? svg("text", { x: start + 6, y: top + 13.5, fill: inkOn(shades[0]), class: new Set(shades.map(inkOn)).size > 1 || shades.length < cells.length ? `label halo-${inkOn(shades[0]).slice(1)}` : "label" }, flat(label)) : null,
    one.end && length > 12 ? svg("text", { x: start + length - 5, y: top + 14, "text-anchor": "end", fill: inkOn(shades.at(-1)), class: "glyph" }, ENDS[one.end]?.[0] ?? "") : null);
}

// From the end of what stood in the prompt to the start of what was written.
function curve(parent, child, x, y, wide) {
  const from = [Math.min(x(child.cells[0][0]), x(parent.cells.at(-1)[0]) + wide), y(parent.lane) + BAR / 2], to = [x(child.cells[0][0]) + 2, y(child.lane) + BAR / 2], bend = Math.max(18, (to[0] - from[0]) / 2);
  return svg("path", { d: `M ${from} C ${from[0] + bend},${from[1]} ${to[0] - bend},${to[1]} ${to}`, class: "kin-line" });
}
