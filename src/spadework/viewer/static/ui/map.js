// A map on which alike programs lie near each other. Laying it out may take the server a minute, so that a run that
// goes on does not move it: whoever looks at it says when.

import { get, isReport } from "ui/api.js";
import { scatter } from "ui/charts.js";
import { flat, h } from "ui/dom.js";
import { picker } from "ui/table.js";

// chosen: { kind, way } of the map, "" for the first there is; it is changed in place before onChange is called.
export function likenessMap({ run, open, chosen, onChange }) {
  const controls = h("div", { class: "bar" }), said = h("p", { class: "soft small", role: "status" }), chart = h("div", {});
  const anew = h("button", { type: "button", onclick: () => layOut() }, "Lay it out anew");
  const more = h("p", { class: "small", hidden: true }, "Environments came since. ", anew);
  const element = h("figure", { class: "card" }, h("figcaption", {}, h("h3", {}, "Map by likeness of the programs")), controls, said, more, chart);
  let known = null, grouped = null, laid = null, asked = 0;

  async function draw(answer, group) {
    [known, grouped] = [answer, group];
    if (!controls.children.length && !isReport) {
      const change = (what) => (value) => { chosen[what] = value; onChange(); return layOut(); };
      controls.append(picker("Vectors", chosen.kind, Object.entries(known.kinds), change("kind")), picker("Layout", chosen.way, known.ways.map((way) => [way, way]), change("way")));
    }
    if (!laid) await layOut(); else show();
  }

  async function layOut() {
    const mine = ++asked, of = known.points.length;
    said.textContent = "Laying out the map … MiniLM reads a few programs a second when it first sees them.";
    try {
      const found = await get("likeness", { run, ...chosen });
      if (mine !== asked) return;
      laid = { ...found, of };
      show();
    } catch (error) {
      if (mine === asked) said.replaceChildren(h("span", { class: "bad", role: "alert" }, flat(error.message)));
    }
  }

  function show() {
    const placed = known.points.filter((point) => Object.hasOwn(laid.points, point.id));
    const some = placed.length < laid.of ? `${placed.length} of ${laid.of}` : String(placed.length);
    said.textContent = placed.length ? `Near is alike: ${laid.way} of ${known.kinds[laid.kind]} vectors, ${some} environments` : "Nothing to show yet.";
    more.hidden = isReport || laid.of === known.points.length;
    if (!placed.length) return;
    chart.replaceChildren(scatter({ title: `Map of environments: ${said.textContent}`, x: "", y: "", showAxes: false, onopen: open, groups: grouped(placed, (point) => laid.points[point.id]) }));
  }

  return { element, draw };
}
