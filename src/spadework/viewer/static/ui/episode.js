// One episode beside another, by default the other arm on the same seed: turn by turn, or token by token.

import { get, isReport, post } from "ui/api.js";
import { changesBox, facts, faultBox, flat, h, number, textBlock, visible } from "ui/dom.js";
import { picker } from "ui/table.js";
import { legendOf, tokenBox } from "ui/tokens.js";

export async function episode({ params, run, keep, link }) {
  const left = await get("episode", { run, id: params.id });
  const other = params.with ?? partner(left)?.id;
  let right = other ? await get("episode", { run, id: other }).catch(() => null) : null;
  let view = params.view ?? "turns";
  const sides = h("div", { class: "two" });
  const modes = [["turns", "turns"], ["logprob", "tokens by log-probability"], ["advantage", "tokens by advantage"]];
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
    sides.replaceChildren(...shown.map((data) => side(data, view === "turns" ? turns(data, watched.get(data.id)) : tokenBox(view, data, "episode-tokens", run))));
    legend.replaceChildren(...(view === "turns" ? [] : [legendOf(view)]));
    keep({ id: left.id, with: right && right.id !== partner(left)?.id ? right.id : "", view: view === "turns" ? "" : view });
  }

  draw();
  const bar = h("div", { class: "bar" }, picker("Show", view, modes, (value) => { view = value; draw(); }),
    choices.length ? picker("Beside it", right?.id ?? "", [["", "nothing"], ...choices], async (id) => { right = id ? await get("episode", { run, id }) : null; draw(); }) : null, isReport ? null : look, legend);
  return { nodes: [
    h("p", { class: "small" }, h("a", { href: link("episodes", { run, environment: left.environment }) }, "Episodes of ", visible(left.environment)), " · ", h("a", { href: link("environment", { run, id: left.environment }) }, "the environment")),
    h("h1", {}, visible(left.id)), bar, sides] };
}

function partner(data) {
  const wanted = data.arm === "unhinted" ? "hinted" : "unhinted";
  return data.partners.find((one) => one.arm === wanted && one.index === data.index);
}

function side(data, content) {
  return h("section", { class: "card", "aria-label": flat(data.id) },
    h("h2", {}, data.arm), facts([["seed", String(data.seed)], ["ending", data.ending], ["return", number(data.return)], ["turns", String(data.turns.length)],
      ["tokens sampled", String(data.sampled)]]),
    data.fault ? faultBox(data.fault) : null, content);
}

function turns(data, watched) {
  return [...data.turns.map((turn, place) => h("div", { class: "turn" },
    h("p", {}, `turn ${place + 1}, the environment`), textBlock(turn.observation, `observation ${place + 1}`),
    h("p", {}, "the agent"), textBlock(turn.reply, `reply ${place + 1}`),
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
