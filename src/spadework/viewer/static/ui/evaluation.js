// Held-out suites with their intervals, and the paper's own rows to read beside them.

import { get } from "ui/api.js";
import { curves } from "ui/charts.js";
import { count, h, percent, visible } from "ui/dom.js";
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
    nodes.push(h("h2", {}, "Over the run"), h("div", { class: "grid" }, [...new Set(good.map((row) => row.suite))].map((suite) => chart(suite, good, names))));
  } else {
    nodes.push(h("p", { class: "empty" }, "No evaluation is stored in this run. `spadework eval --run RUN` writes one; `run.evaluate_every` in a config does so while training."));
  }
  nodes.push(h("h2", {}, "The paper's rows (per cent)"), ...paperTables(paper));
  return { nodes };
}

function cycle(row) { return row.cycle < 0 ? "start" : row.cycle + 1; }

function interval(score) { return (score.low ?? null) === null ? "–" : `${percent(score.low)} to ${percent(score.high)}`; }

function chart(suite, rows, names) {
  const lines = names.map((name, place) => {
    const own = rows.filter((row) => row.run === place && row.suite === suite).sort((a, b) => a.cycle - b.cycle);
    return { name, colour: place, points: own.map((row) => [row.cycle, row.score.mean]), band: own.map((row) => [row.cycle, row.score.low, row.score.high]) };
  }).filter((line) => line.points.length);
  return curves({ title: suite, lines, smoothing: () => 0 });
}

function paperTables(paper) {
  const tables = Map.groupBy(paper, (row) => row.table);
  return [...tables].map(([title, rows]) => {
    const suites = [...new Set(rows.map((row) => row.suite))], models = [...new Set(rows.map((row) => row.model))];
    const at = new Map(rows.map((row) => [`${row.model} ${row.suite}`, row.score]));
    return plainTable(["model", ...suites], models.map((model) => [model, ...suites.map((suite) => { const score = at.get(`${model} ${suite}`); return score === undefined ? "–" : (100 * score).toFixed(1); })]), title);
  });
}
