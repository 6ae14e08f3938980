// Curves of all runs over each other, their last figures, and which settings tell them apart.

import { get } from "ui/api.js";
import { curves, loadLibrary } from "ui/charts.js";
import { count, facts, flat, h, number, percent, visible } from "ui/dom.js";
import { plainTable } from "ui/table.js";

// Groups of panels. A panel: title, note, metric -> label, and whether they are shares; the regret's interval is drawn around it.
const GROUPS = [
  ["The agent", [
    ["Win rate", "of the agent, by arm", { "agent/unhinted_win_rate": "unhinted", "agent/hinted_win_rate": "hinted" }, true],
    ["Regret", "hinted minus unhinted return, with the mean 95 % interval", { "designer/regret": "regret" }],
    ["Return", "unhinted", { "agent/unhinted_return": "all", "agent/anchor_return": "anchors" }],
    ["Episodes", "share", { "agent/truncated_share": "truncated", "agent/malformed_share": "malformed turns" }],
    ["Turns", "of an episode", { "agent/turns": "turns" }],
  ]],
  ["The designer and its curriculum", [
    ["Learnable share", "environments with a win rate in [0.2, 0.8]", { "pool/learnable_share": "learnable" }, true],
    ["Designs", "share of attempts", { "designer/ran_share": "ran", "designer/valid_share": "accepted" }, true],
    ["Diversity", "of recent designs", { "designer/vendi": "Vendi / n", "designer/largest_structure_share": "largest structure" }],
    ["Reward levels", "distinct unhinted returns of an environment", { "pool/reward_levels": "levels" }],
  ]],
  ["The update", [
    ["Loss", "summed surrogate", { "train/loss": "loss" }],
    ["KL", "of the policy, nats a token", { "train/approx_kl": "to the sampler", "train/kl_to_start": "to the start" }],
    ["Entropy", "nats a token", { "train/entropy": "entropy" }],
    ["Gradient norm", "before clipping", { "train/grad_norm": "gradient norm" }],
    ["Clip share", "tokens whose ratio was clipped", { "train/clip_share": "clipped" }],
    ["Log-prob mismatch", "sampler against trainer, nats", { "train/logprob_mismatch": "mismatch" }],
  ]],
  ["The machine", [
    ["Tokens a second", "sampled, while collecting", { "tokens/per_second": "tokens/s" }],
    ["Faults", "episodes and work lost", { "faults/program": "program", "faults/other": "other" }],
  ]],
];
const PANELS = GROUPS.flatMap(([, panels]) => panels);

export async function overview({ keep, params, link }) {
  loadLibrary(); // while the answer is on its way
  let data = await get("overview");
  let weight = Number(params.smooth ?? 0);
  const head = h("div", { class: "two" }), panels = h("div", {}), more = h("div", { class: "grid" });
  let figures = [];
  const read = h("output", {}, String(weight));
  const slider = h("input", { type: "range", min: 0, max: 0.98, step: 0.02, value: weight, oninput: () => {
    weight = Number(slider.value);
    read.textContent = weight.toFixed(2);
    keep({ smooth: weight || "" });
    for (const figure of figures) figure.redraw();
  } });
  const rest = h("details", {}, h("summary", {}, "All other metrics"), more);
  rest.addEventListener("toggle", () => { if (rest.open && !more.children.length) more.append(...others().map(draw)); });

  function lines(metrics) {
    const alone = data.runs.length === 1;
    return data.runs.flatMap((run, place) => Object.entries(metrics).map(([metric, label], style) => ({
      name: alone ? label : Object.keys(metrics).length > 1 ? `${run.name} ${label}` : run.name,
      points: series(run, metric), colour: alone ? style : place, dash: style,
      band: metric === "designer/regret" ? interval(run) : null,
    }))).filter((line) => line.points.length);
  }

  function draw([title, note, metrics, share]) {
    const figure = curves({ title, note, share, lines: lines(metrics), smoothing: () => weight });
    figures.push(figure);
    return figure;
  }

  function others() {
    const named = new Set(PANELS.flatMap(([, , metrics]) => Object.keys(metrics)).concat("designer/regret_low", "designer/regret_high"));
    const all = new Set(data.runs.flatMap((run) => Object.keys(run.metrics)));
    return [...all].filter((metric) => !named.has(metric)).sort().map((metric) => [metric, "", { [metric]: metric }]);
  }

  function fill() {
    figures = [];
    head.replaceChildren(...data.runs.map((run, place) => runCard(run, (page, more) => link(page, { run: place, ...more }))));
    panels.replaceChildren(...GROUPS.flatMap(([title, own]) => {
      const drawn = own.filter(([, , metrics]) => lines(metrics).length).map(draw);
      return drawn.length ? [h("h2", {}, title), h("div", { class: "grid" }, drawn)] : [];
    }));
    more.replaceChildren(...(rest.open ? others().map(draw) : []));
    if (!panels.children.length) panels.append(h("p", { class: "empty" }, "No cycle is committed yet; curves appear here as soon as one is."));
  }

  fill();
  return {
    nodes: [h("h1", {}, "Overview"), head,
      h("div", { class: "bar" }, h("label", { class: "across" }, "Smoothing", slider, read)), panels, rest, ...settings(data.settings), ...data.runs.map(wholeConfig)],
    refresh: async () => { data = await get("overview"); fill(); },
  };
}

function series(run, metric) {
  if (metric !== "tokens/per_second") return run.metrics[metric] ?? [];
  const seconds = new Map(run.metrics["time/collect_s"] ?? []);
  return (run.metrics["tokens/sampled"] ?? []).map(([cycle, tokens]) => [cycle, seconds.get(cycle) ? tokens / seconds.get(cycle) : null]);
}

function interval(run) {
  const highs = new Map(run.metrics["designer/regret_high"] ?? []);
  return (run.metrics["designer/regret_low"] ?? []).map(([cycle, low]) => [cycle, low, highs.get(cycle) ?? null]);
}

function last(run, metric) { return run.metrics[metric]?.at(-1)?.[1]; }

function runCard(run, to) {
  const figure = (page, text, more) => h("a", { href: to(page, more) }, text);
  const going = run.cycles < run.of;
  return h("section", { class: "card run-card", "aria-label": flat(run.name) },
    h("h2", {}, visible(run.name), " ", h("span", { class: going ? "badge warn" : "badge good" }, going ? `cycle ${run.cycles} of ${run.of}` : `${run.cycles} cycles, done`)),
    h("p", { class: "soft small" }, visible(`${run.model}, ${run.domain}, ${run.path}`), going ? `; last written ${since(run.age)} ago` : ""),
    facts([["win rate", figure("curriculum", number(last(run, "agent/unhinted_win_rate")))], ["hinted", figure("curriculum", number(last(run, "agent/hinted_win_rate")), { by: "hinted" })],
      ["regret", figure("environments", number(last(run, "designer/regret")), { sort: "regret", desc: 1 })], ["learnable", figure("curriculum", percent(last(run, "pool/learnable_share")))],
      ["accepted", figure("rejections", percent(last(run, "designer/valid_share")))], ["in the pool", figure("environments", count(last(run, "pool/size")), { state: "in pool" })],
      ["took", since(run.seconds)], ["tokens sampled", count(run.tokens)]]),
    Object.keys(run.machine).length ? h("p", { class: "soft small" }, visible(`On ${run.machine.host}: ${Object.entries(run.machine).filter(([key]) => key !== "host").map(([key, value]) => (key === "system" ? value : `${key} ${value}`)).join(", ")}`)) : null);
}

function wholeConfig(run) {
  const box = h("details", {}, h("summary", {}, visible(`Every setting of ${run.name}`)));
  box.addEventListener("toggle", () => { if (box.open && !box.querySelector("table")) box.append(plainTable(["setting", "value"], run.config.map((row) => [row.key, row.value]), `${run.config.length} settings`)); });
  return box;
}

function since(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

function settings({ columns, rows }) {
  const alone = columns[0] === "default";
  const title = alone ? "Settings that differ from the defaults" : "Settings that differ between the runs";
  if (!rows.length) return [h("h2", {}, title), h("p", { class: "soft" }, "None.")];
  return [h("h2", {}, title), plainTable(["setting", ...columns], rows.map((row) => [row.key, ...row.values]), `${rows.length} settings`)];
}
