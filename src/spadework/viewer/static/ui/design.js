// A designer's attempt: its prompt, with the document in it, what it wrote, what the checks found, what it was paid.

import { get } from "ui/api.js";
import { facts, faultBox, h, number, sourceBlock, textBlock, visible } from "ui/dom.js";
import { picker } from "ui/table.js";
import { legendOf, tokenBox } from "ui/tokens.js";

export async function design({ params, run, keep, link }) {
  const data = await get("design", { run, id: params.id });
  let view = "reply";
  const reply = h("div", {}), legend = h("span", {});
  function draw() {
    reply.replaceChildren(view === "reply" ? textBlock(data.reply, "reply") : tokenBox(view, data, "design-tokens", run));
    legend.replaceChildren(...(view === "reply" ? [] : [legendOf(view)]));
  }
  draw();
  const modes = [["reply", "text"], ["logprob", "tokens by log-probability"], ["advantage", "tokens by advantage"]];
  return { nodes: [
    h("p", { class: "small" }, h("a", { href: link("rejections", { run }) }, "Attempts")),
    h("h1", {}, "Design ", visible(data.id)),
    h("p", {}, h("span", { class: `badge ${data.reason === "accepted" ? "good" : "bad"}` }, visible(data.reason)), data.environment ? [" it became ", h("a", { href: link("environment", { run, id: data.environment }) }, visible(data.environment))] : null, data.repaired ? " after its text was mended" : null),
    data.fault ? faultBox(data.fault) : null,
    data.findings.length ? h("ul", {}, data.findings.map((finding) => h("li", {}, visible(finding)))) : null,
    facts([["skill", visible(data.skill)], ["cycle", String(data.cycle + 1)], ["slot, attempt", `${data.slot}, ${data.attempt}`], ["document", visible(data.document || "none")],
      data.variant ? ["variant", visible(data.variant)] : null, data.score ? ["paid", `${number(data.score.reward)} (raw ${number(data.score.raw)}, advantage ${number(data.score.advantage)}) in cycle ${data.score.cycle + 1}`] : ["paid", "nothing yet, or never"]]),
    h("div", { class: "two" },
      h("section", {}, h("h2", {}, "Prompt"), textBlock(data.prompt, "prompt")),
      h("section", {}, h("h2", {}, "Reply"), h("div", { class: "bar" }, picker("Show", view, modes, (value) => { view = value; draw(); }), legend), reply,
        h("h2", {}, "Program"), sourceBlock(data.source, "program"))),
  ].filter(Boolean) };
}
