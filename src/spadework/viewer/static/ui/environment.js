// One environment: program, hint, where it came from, how it was played; and the program to play or check yourself.

import { get, isReport, post } from "ui/api.js";
import { curves } from "ui/charts.js";
import { facts, faultBox, flat, h, number, percent, sourceBlock, textBlock, visible } from "ui/dom.js";
import { playBox } from "ui/play.js";
import { plainTable } from "ui/table.js";
import { familyTree } from "ui/tree.js";

export async function environment({ params, run, link }) {
  const id = params.id;
  const data = await get("environment", { run, id });
  const game = isReport ? null : playBox({ run, id, hint: data.hint });
  const nodes = [
    h("p", { class: "small" }, h("a", { href: link("environments", { run }) }, "Environments")),
    h("h1", {}, visible(data.name || data.id)),
    data.summary ? h("p", {}, visible(data.summary)) : null,
    h("p", {}, h("span", { class: "badge" }, data.state), " ", visible(data.why)),
    facts([["id", visible(data.id)], ["skill", visible(data.skill || "–")], ["entered in cycle", String(data.cycle + 1)], ["document", visible(data.document || "none")],
      ["design", data.design ? h("a", { href: link("design", { run, id: data.design }) }, visible(data.design)) : "bundled or imported"],
      data.measured === null ? null : ["measured in cycle", String(data.measured + 1)],
      ["win rate", rate(data.unhinted, data.unhinted_n)], ["hinted", rate(data.hinted, data.hinted_n)], ["regret", regret(data)],
      data.score ? ["paid to the designer", `${number(data.score.reward)} (raw ${number(data.score.raw)})`] : null,
      ["episodes", h("a", { href: link("episodes", { run, environment: data.id }) }, String(data.episodes))], ["faults", String(data.faults)]]),
    h("div", { class: "two" },
      h("section", {}, h("h2", {}, "Program"), sourceBlock(data.source, "source of the program")),
      h("section", {}, h("h2", {}, "Hint"), data.hint ? textBlock(data.hint, "hint") : h("p", { class: "soft" }, "It has none."),
        ...(data.grounding ? [h("h2", {}, "Document"), textBlock(data.grounding, "document")] : []),
        ...(isReport ? [] : [h("h2", {}, "Checks and panel"), checks(run, id), h("h2", {}, "Play it yourself"), game.element]))),
    ...changed(data, run, link),
    h("h2", {}, "Plays by cycle"), plays(data),
    h("h2", {}, "Relatives through memory"),
    familyTree(data, (id) => link("environment", { run, id })),
  ].filter(Boolean);
  return { nodes, close: () => game?.close() };
}

function rate(value, n) { return value === null ? "–" : `${number(value)} of ${n}`; }

// Seeds that both arms played, those first on which the hint changed the return most.
function changed(data, run, link) {
  if (!data.pairs.length) return [];
  const rows = data.pairs.slice(0, 12).map((pair) => [h("a", { href: link("episode", { run, id: pair.unhinted.id, view: "changes" }) }, `seed ${pair.seed}`), number(pair.unhinted.return), number(pair.hinted.return), number(pair.unhinted.return === null || pair.hinted.return === null ? null : pair.hinted.return - pair.unhinted.return)]);
  return [h("h2", {}, "What the hint changed"), plainTable(["both replies", "return", "with the hint", "difference"], rows, `${data.pairs.length} seeds of cycle ${data.measured + 1}, played without and with the hint`)];
}

function regret(data) {
  if (data.regret === null) return "–";
  return data.regret_low === null ? number(data.regret) : `${number(data.regret)} (${number(data.regret_low)} to ${number(data.regret_high)})`;
}

function plays(data) {
  if (!data.plays.length) return h("p", { class: "soft" }, "Not played yet.");
  const arms = [...new Set(data.plays.map((play) => play.arm))];
  const lines = arms.map((arm, place) => ({ name: arm, colour: place, points: data.plays.filter((play) => play.arm === arm).map((play) => [play.cycle, play.win_rate]) }));
  return h("div", { class: "two" }, curves({ title: "Win rate over cycles", lines, share: true, smoothing: () => 0 }),
    plainTable(["cycle", "arm", "episodes", "faults", "win rate", "mean return"], data.plays.map((play) => [play.cycle + 1, play.arm, play.episodes, play.faults, number(play.win_rate), number(play.mean_return)]), "plays"));
}

function checks(run, id) {
  const out = h("div", { role: "status" });
  const button = h("button", { type: "button", onclick: async () => {
    button.disabled = true;
    out.replaceChildren(h("p", { class: "soft" }, "Playing it with everyone who must win, and everyone who must not …"));
    try { out.replaceChildren(...report(await post("check", { run, id }))); } catch (error) { out.replaceChildren(h("p", { class: "bad" }, flat(error.message))); }
    button.disabled = false;
  } }, "Run the checks");
  return h("div", {}, h("p", { class: "soft small" }, "Runs in the sandbox: the oracle plays the program's own solution; the others say nothing, guess or copy, and should not win."), button, out);
}

function report({ findings, statistics, fault }) {
  if (fault) return [faultBox(fault)];
  const said = findings.length ? h("ul", {}, findings.map((one) => h("li", {}, h("strong", { class: one.severity === "error" ? "bad" : one.severity === "warning" ? "warn" : "soft" }, one.code), " ", visible(one.message), one.line ? ` (line ${one.line})` : "", h("span", { class: "soft small" }, ` ${one.title}`))))
    : h("p", { class: "good" }, "No check has anything against it.");
  if (!statistics) return [said];
  const rates = Object.entries(statistics.win_rates).map(([player, rate]) => [player, percent(rate)]);
  return [said, plainTable(["player", "win rate"], rates, `${statistics.plays} plays`),
    facts([["reward levels", statistics.reward_levels.join(", ") || "–"], ["oracle's turns", number(statistics.oracle_turns, 1)], ["distinct openings", String(statistics.distinct_openings)],
      ["right answers refused", percent(statistics.false_rejects)], ["near misses accepted", percent(statistics.false_accepts)]])];
}
