// One episode beside another, by default the other arm on the same seed: turn by turn, or token by token.

import { get, isReport, post } from "ui/api.js";
import { changesBox, facts, faultBox, flat, h, number, textBlock, visible } from "ui/dom.js";
import { wordDiff } from "ui/diff.js";
import { picker } from "ui/table.js";
import { legendOf, tokenBox } from "ui/tokens.js";

export async function episode({ params, run, keep, link }) {
  const left = await get("episode", { run, id: params.id });
  const other = params.with ?? partner(left)?.id;
  let right = other ? await get("episode", { run, id: other }).catch(() => null) : null;
  let view = params.view ?? "turns";
  const sides = h("div", { class: "two" });
  const modes = [["turns", "turns"], ["changes", "what differs between the replies"], ["logprob", "tokens by log-probability"], ["advantage", "tokens by advantage"]];
  const choices = left.partners.filter((one) => one.id !== left.id).map((one) => [one.id, flat(`${one.arm} ${one.index}, seed ${one.seed}, return ${number(one.return)}`)]);
  const legend = h("span", {});
  const watched = new Map();  // episode -> what each of its steps changed
  const look = h("button", { type: "button", onclick: watch }, "What each step changed");

  async function watch() {
    look.disabled = true;
    for (const data of [left, right].filter(Boolean)) {
      if (!watched.has(data.id)) watched.set(data.id, await post("watch", { run: Number(run), id: data.id }).then((said) => said.steps, () => []));
    }
    look.disabled = false;
    draw();
  }

  function draw() {
    const shown = [left, right].filter(Boolean);
    sides.replaceChildren(...shown.map((data) => side(data, reads(view) ? turns(data, watched.get(data.id), view === "changes" ? across(data) : null) : tokenBox(view, data, "episode-tokens", run))));
    legend.replaceChildren(...(reads(view) ? [] : [legendOf(view)]));
    keep({ id: left.id, with: right && right.id !== partner(left)?.id ? right.id : "", view: view === "turns" ? "" : view });
  }

  // The replies of a side with the words marked that the other side's reply of the same turn has not.
  function across(data) {
    if (!left || !right) return null;
    return data.turns.map((_, place) => wordDiff(left.turns[place]?.reply ?? "", right.turns[place]?.reply ?? "")[data === left ? 0 : 1]);
  }

  const row = left.partners.filter((one) => one.arm === left.arm).sort((a, b) => a.index - b.index), at = row.findIndex((one) => one.id === left.id);
  const step = (by) => { const next = row[at + by]; if (next) location.hash = link("episode", { run, id: next.id, ...(reads(view) && view === "turns" ? {} : { view }) }); };
  const keys = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (event.key === "j") step(1);
    if (event.key === "k") step(-1);
  };
  addEventListener("keydown", keys);
  const walk = [["Previous (k)", -1], ["Next (j)", 1]].map(([text, by]) => h("button", { type: "button", disabled: !row[at + by], onclick: () => step(by) }, text));
  draw();
  const bar = h("div", { class: "bar" }, walk, picker("Show", view, modes, (value) => { view = value; draw(); }),
    choices.length ? picker("Beside it", right?.id ?? "", [["", "nothing"], ...choices], async (id) => { right = id ? await get("episode", { run, id }) : null; draw(); }) : null, isReport ? null : look, legend);
  return { nodes: [
    h("p", { class: "small" }, h("a", { href: link("episodes", { run, environment: left.environment }) }, "Episodes of ", visible(left.name || left.environment)), " · ", h("a", { href: link("environment", { run, id: left.environment }) }, "the environment")),
    h("h1", {}, visible(left.id)), bar, partner(left) ? null : h("p", { class: "soft small" }, "The other arm did not play this environment in this cycle."), sides].filter(Boolean), close: () => removeEventListener("keydown", keys) };
}

function partner(data) {
  const wanted = data.arm === "unhinted" ? "hinted" : "unhinted";
  const arm = data.partners.filter((one) => one.arm === wanted);
  return arm.find((one) => one.seed === data.seed) ?? arm.find((one) => one.index === data.index);
}

function reads(view) { return view === "turns" || view === "changes"; }

function side(data, content) {
  return h("section", { class: "card", "aria-label": flat(data.id) },
    h("h2", {}, data.arm), facts([["seed", String(data.seed)], ["ending", data.ending], ["return", number(data.return)], ["turns", String(data.turns.length)],
      ["tokens sampled", String(data.sampled)]]),
    data.fault ? faultBox(data.fault) : null, content);
}

function turns(data, watched, marked) {
  return [...data.turns.map((turn, place) => h("div", { class: "turn" },
    h("p", {}, `turn ${place + 1}, the environment`), textBlock(turn.observation, `observation ${place + 1}`),
    h("p", {}, "the agent"), marked ? h("pre", { class: "text", tabindex: "0", role: "group", "aria-label": `reply ${place + 1}` }, marked[place]) : textBlock(turn.reply, `reply ${place + 1}`),
    h("p", {}, turn.action === turn.reply ? "" : ["the program got ", pieces(turn), ", "], `reward ${turn.reward}`, turn.malformed ? h("span", { class: "bad" }, ", malformed") : ""),
    watched?.[place + 1] ? changesBox(watched[place + 1].changes) : null)),
  data.last_observation ? h("div", { class: "turn" }, h("p", {}, "at the end"), textBlock(data.last_observation, "last observation")) : null];
}

// An action as its domain shows it: texts, calls with their arguments, and problems.
function pieces(turn) {
  if (!turn.shown?.length) return h("code", {}, visible(turn.action.slice(0, 300)));
  return turn.shown.map((piece, place) => [place ? " " : "", piece.kind === "problem"
    ? h("span", { class: "bad" }, visible(piece.text.slice(0, 300)))
    : h("code", {}, visible(piece.kind === "call" ? `${piece.text}(${called(piece.arguments)})`.slice(0, 300) : piece.text.slice(0, 300)))]).flat();
}

function called(values) {
  return Object.entries(values).map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(", ");
}
