// All environments of a run: a scatter, a map, and a table to search and sort.

import { get } from "ui/api.js";
import { scatter } from "ui/charts.js";
import { flat, h, number, visible } from "ui/dom.js";
import { likenessMap } from "ui/map.js";
import { dataTable, picker, searchBox } from "ui/table.js";

const STATES = [["", "accepted"], ["in pool", "in the pool"], ["retired", "retired"], ["replaced", "replaced"], ["waiting", "not played yet"], ["rejected", "rejected"]];
const TONES = { "in pool": "good", retired: "warn", rejected: "bad" };

export async function environments({ params, run, runName, keep, link }) {
  const colour = { by: params.colour ?? "skill" }, chosen = { kind: params.kind ?? "", way: params.way ?? "" };
  const open = (id) => { location.hash = link("environment", { run, id }); };
  const columns = [
    { key: "name", label: "environment", kind: "long", show: (row) => [h("a", { href: link(row.state === "rejected" ? "design" : "environment", { run, id: row.id }), title: flat(row.id) }, visible(row.name || row.id)), row.summary ? h("div", { class: "soft small" }, visible(row.summary)) : null].filter(Boolean) },
    { key: "skill", label: "skill" },
    { key: "cycle", label: "entered", number: true, show: (row) => String(row.cycle + 1) },
    { key: "measured", label: "measured", number: true, show: (row) => (row.measured === null ? "–" : String(row.measured + 1)) },
    { key: "unhinted", label: "win rate", number: true, show: (row) => number(row.unhinted) },
    { key: "hinted", label: "hinted", number: true, show: (row) => number(row.hinted) },
    { key: "regret", label: "regret", number: true, show: (row) => number(row.regret) },
    { key: "unhinted_n", label: "n", number: true, sort: false, show: (row) => (row.unhinted_n === null ? "–" : row.hinted_n === null ? String(row.unhinted_n) : `${row.unhinted_n} + ${row.hinted_n}`) },
    { key: "regret_low", label: "95 % interval", number: true, sort: false, show: (row) => (row.regret_low === null ? "–" : `${number(row.regret_low)} to ${number(row.regret_high)}`) },
    { key: "state", label: "state", kind: "long", show: (row) => h("span", {}, h("span", { class: `badge ${TONES[row.state] ?? ""}` }, row.state), row.why ? [" ", h("span", { class: "small" }, visible(row.why.slice(0, 300)))] : null) },
  ];
  function remember(query = table.query) { keep({ ...query, ...chosen, colour: colour.by === "skill" ? "" : colour.by }); }
  const { search = "", state = "", skill = "", sort = "", desc = "", offset = 0 } = params;
  const table = dataTable({ columns, caption: `Environments of ${runName}, the newest first; the figures of a row are of the one cycle under “measured”`, state: { search, state, skill, sort, desc, offset },
    load: (query) => get("environments", { run, ...query }), onChange: remember });
  const first = await table.refresh();
  const plots = h("div", { class: "two" });
  const bar = h("div", { class: "bar" }, searchBox("Search", search, (text) => table.change({ search: text, offset: 0 })),
    picker("State", state, STATES, (value) => table.change({ state: value, offset: 0 })),
    picker("Skill", skill, [["", "all"], ...first.skills.map((name) => [name, flat(name)])], (value) => table.change({ skill: value, offset: 0 })),
    picker("Colour of the plots", colour.by, [["skill", "skill"], ["cycle", "cycle"], ["state", "state"]], (value) => { colour.by = value; remember(); drawPlots(); }));
  let known = { points: [] };
  const map = likenessMap({ run, open, chosen, onChange: () => remember() });

  async function drawPlots(asked) {
    known = asked ?? known;
    const played = known.points.filter((point) => point.unhinted !== null && point.regret !== null);
    const plot = !played.length ? h("p", { class: "empty" }, "No environment has a regret yet: that takes plays in both arms.") : scatter({ title: "Win rate against regret", x: "win rate, unhinted", y: "regret", onopen: open,
      groups: group(played, colour.by, (point) => [point.unhinted, point.regret]) });
    plots.replaceChildren(h("figure", { class: "card" }, h("figcaption", {}, h("h3", {}, "Win rate against regret")), plot), map.element);
    await map.draw(known, (points, at) => group(points, colour.by, at));
  }

  get("points", { run }).then(drawPlots).catch((error) => plots.replaceChildren(h("p", { class: "bad" }, flat(error.message))));
  return { nodes: [h("h1", {}, "Environments"), plots, bar, table.element],
    refresh: async () => { await table.refresh(); await drawPlots(await get("points", { run })); } };
}

function group(points, by, at) {
  const groups = new Map();
  const cycles = points.map((point) => point.cycle), least = Math.min(...cycles), span = Math.max(1, Math.max(...cycles) - least + 1);
  const name = (point) => {
    if (by !== "cycle") return String(point[by] || "none");
    const part = Math.min(5, Math.floor((6 * (point.cycle - least)) / span));
    const from = least + Math.ceil((part * span) / 6) + 1, to = least + Math.ceil(((part + 1) * span) / 6);
    return from >= to ? `cycle ${from}` : `cycles ${from} to ${to}`;
  };
  for (const point of points) {
    const key = name(point);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push({ value: at(point), id: point.id });
  }
  return new Map([...groups].sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true })));
}
