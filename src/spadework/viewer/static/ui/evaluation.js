// Held-out suites with their intervals, and the paper's own rows to read beside them.

import { get } from "ui/api.js";
import { curves } from "ui/charts.js";
import { count, h, percent, prose, visible } from "ui/dom.js";
import { plainTable } from "ui/table.js";

export async function evaluation({ names }) {
  const { rows, paper } = await get("evaluation");
  const name = (row) => names[row.run];
  const good = rows.filter((row) => !row.problem);
  const nodes = [h("h1", {}, "Evaluation"), ...rows.filter((row) => row.problem).map((row) => h("p", { class: "bad" }, visible(row.problem)))];
  if (good.length) {
    nodes.push(plainTable(["suite", "run", "cycle", "score", "95 % interval", "items", "errors", "preset"], good.flatMap((row) => [
      [row.suite, name(row), cycle(row), percent(row.score.mean), interval(row.score), count(row.n), count(row.errors), row.setting.preset],
      ...Object.entries(row.groups).map(([group, score]) => [`${row.suite}: ${group}`, name(row), cycle(row), percent(score.mean), interval(score), count(score.n), "", ""])]), "Suites and their groups; an item that failed counts as not solved"));
    nodes.push(h("h2", {}, "Over the run, beside the paper"), ...columnsOf(good).map(([column, found]) =>
      h("div", { class: "two beside" }, chart(column, found, names), beside(column, found, names, paper))));
  } else {
    nodes.push(h("p", { class: "empty" }, prose("No evaluation is stored in this run. `spadework eval --run RUN` writes one; `run.evaluate_every` in a config does so while training.")));
  }
  nodes.push(h("details", { open: good.length === 0 }, h("summary", {}, h("h2", {}, "The paper's rows (per cent)")), paperTables(paper)));
  return { nodes };
}

function cycle(row) { return row.cycle < 0 ? "start" : row.cycle + 1; }

function interval(score) { return (score.low ?? null) === null ? "–" : `${percent(score.low)} to ${percent(score.high)}`; }

// Every suite, then its groups where the paper has them: [name, [{ run, cycle, score }]].
function columnsOf(rows) {
  const all = rows.flatMap((row) => [[row.suite, row.score], ...Object.entries(row.groups).map(([group, score]) => [`${row.suite}/${group}`, score])].map(([column, score]) => ({ column, run: row.run, cycle: row.cycle, score })));
  return [...Map.groupBy(all, (one) => one.column)].sort(([a], [b]) => a.localeCompare(b, "en"));
}

function chart(column, found, names) {
  const lines = names.map((name, place) => {
    const own = found.filter((one) => one.run === place).sort((a, b) => a.cycle - b.cycle);
    return { name, colour: place, points: own.map((one) => [one.cycle, one.score.mean]), band: own.map((one) => [one.cycle, one.score.low, one.score.high]) };
  }).filter((line) => line.points.length);
  return curves({ title: column, note: "share solved; cycle 0 is the start", lines, share: true, smoothing: () => 0 });
}

// Start and newest checkpoint of each run, and whoever the paper measured on the same, the best first.
function beside(column, found, names, paper) {
  const own = names.flatMap((name, place) => {
    const mine = found.filter((one) => one.run === place).sort((a, b) => a.cycle - b.cycle);
    return [...new Set([mine.at(0), mine.at(-1)])].filter(Boolean).map((one) => [`${name}, ${one.cycle < 0 ? "start" : `cycle ${one.cycle + 1}`}`, percent(one.score.mean), interval(one.score), "yours"]);
  });
  const theirs = paper.filter((row) => row.suite === column).sort((a, b) => b.score - a.score).map((row) => [row.model, percent(row.score), "–", row.table]);
  return plainTable(["who", "score", "95 % interval", "from"], [...own, ...theirs], theirs.length ? `${column}: yours, then the paper's` : `${column}: the paper has no row of it`);
}

function paperTables(paper) {
  const tables = Map.groupBy(paper, (row) => row.table);
  return [...tables].map(([title, rows]) => {
    const suites = [...new Set(rows.map((row) => row.suite))], models = [...new Set(rows.map((row) => row.model))];
    const at = new Map(rows.map((row) => [`${row.model} ${row.suite}`, row.score]));
    return plainTable(["model", ...suites], models.map((model) => [model, ...suites.map((suite) => { const score = at.get(`${model} ${suite}`); return score === undefined ? "–" : (100 * score).toFixed(1); })]), title);
  });
}
