// A game by hand: the program runs in the sandbox, one turn a request.

import { post } from "ui/api.js";
import { changesBox, faultBox, field, flat, h, textBlock, visible } from "ui/dom.js";

export function playBox({ run, id, hint }) {
  let game = null;
  const log = h("div", { role: "log", "aria-label": "the game" });
  const answer = h("textarea", { rows: 2, cols: 40, "aria-label": "your answer", placeholder: "your answer" });
  const send = h("button", { type: "submit", class: "main" }, "Answer");
  const form = h("form", { hidden: true, onsubmit: (event) => { event.preventDefault(); step(); } }, h("div", { class: "bar" }, answer, send));
  const seed = h("input", { type: "number", value: 0, min: 0, step: 1, size: 6 });
  const hinted = h("input", { type: "checkbox", disabled: !hint });
  const start = h("button", { type: "button", onclick: begin }, "Start");
  answer.addEventListener("keydown", (event) => { if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); form.requestSubmit(); } });

  async function asked(work) {
    start.disabled = send.disabled = true;
    try { return await work(); } catch (error) { log.append(h("p", { class: "bad" }, flat(error.message))); return null; } finally { start.disabled = send.disabled = false; }
  }

  async function begin() {
    await close();
    log.replaceChildren();
    const said = await asked(() => post("play", { run, id, seed: Number(seed.value), hinted: hinted.checked }));
    if (!said) return;
    game = said.game ?? null;
    if (said.fault) log.append(faultBox(said.fault));
    else {
      if (said.tools.length) log.append(h("details", {}, h("summary", {}, `${said.tools.length} tools`), textBlock(JSON.stringify(said.tools, null, 1), "tools")));
      log.append(h("p", { class: "soft small" }, `seed ${seed.value}, at most ${said.max_turns} turns`), textBlock(said.observation, "first observation"));
    }
    form.hidden = !game;
    if (game) answer.focus();
  }

  async function step() {
    const said = await asked(() => post("step", { game, answer: answer.value }));
    if (!said) return;
    answer.value = "";
    const turn = h("div", { class: "turn" }, h("p", {}, "You: ", visible(said.action ?? "")));
    log.append(turn);
    if (said.fault) { turn.append(faultBox(said.fault)); end(); return; }
    turn.append(textBlock(said.observation, `observation ${said.turn}`), h("p", {}, `turn ${said.turn}, reward ${said.reward}`), changesBox(said.changes));
    if (said.ended) { log.append(h("p", { class: said.reward >= 1 - 1e-6 && said.ended === "terminated" ? "good" : "warn" }, h("strong", {}, `${said.ended === "terminated" ? "The game ended" : "Out of turns"}: last reward ${said.reward}.`))); end(); } else answer.focus();
  }

  function end() { game = null; form.hidden = true; start.focus(); }

  async function close() {
    if (game) await post("stop", { game }).catch(() => null);
    game = null;
  }

  const element = h("div", { class: "card" }, h("div", { class: "bar" }, field("Seed", seed), h("label", { class: "across" }, hinted, "with the hint"), start), log, form);
  return { element, close };
}
