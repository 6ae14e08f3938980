// A transcript as tokens, coloured by how likely they were or by what they were trained with.

import { get } from "ui/api.js";
import { flat, h, visible } from "ui/dom.js";

// How values become colours; advantages are shown against the largest of them.
function colouring(view, segments) {
  if (view === "logprob") {
    return { of: (segment, place) => shade(Math.min(1, -segment.logprobs[place] / 5), "224, 108, 40"), text: (segment, place) => `log-probability ${segment.logprobs[place]}` };
  }
  const most = Math.max(1e-30, ...segments.map((segment) => (segment.advantages ?? []).reduce((top, value) => Math.max(top, Math.abs(value)), 0)));
  return { of: (segment, place) => { const value = segment.advantages?.[place] ?? 0; return shade(Math.abs(value) / most, value > 0 ? "46, 150, 90" : "206, 60, 60"); },
    text: (segment, place) => (segment.advantages ? `advantage ${segment.advantages[place].toPrecision(3)}` : "not trained") };
}

export function legendOf(view) {
  return view === "logprob" ? h("span", { class: "legend" }, swatch("rgba(224, 108, 40, 0.1)"), "likely", swatch("rgba(224, 108, 40, 0.75)"), "log-probability −5 or less")
    : h("span", { class: "legend" }, swatch("rgba(206, 60, 60, 0.75)"), "made less likely", swatch("rgba(46, 150, 90, 0.75)"), "made more likely");
}

// The tokens of a transcript, which come later than the rest of its page: the server may have to load a tokenizer first.
export function tokenBox(view, data, path, run) {
  const box = h("div", {}, h("p", { class: "soft", role: "status" }, "Reading the tokens …"));
  data.tokens ??= get(path, { run, id: data.id });
  data.tokens.then(({ segments }) => box.replaceChildren(...[tokenView(segments, view)].flat(9).filter(Boolean)),
    (error) => { data.tokens = null; box.replaceChildren(h("p", { class: "bad", role: "alert" }, flat(error.message))); });
  return box;
}

function shade(strength, rgb) { return strength < 0.02 ? "" : `rgba(${rgb}, ${(0.08 + 0.67 * strength).toFixed(2)})`; }

function swatch(colour) {
  const box = h("i", { "aria-hidden": "true" });
  box.style.background = colour;
  return box;
}

function tokenView(segments, view) {
  if (!segments.length) return h("p", { class: "soft" }, "No tokens are stored: the engine gave none, or nothing of it was trained.");
  const scale = colouring(view, segments);
  const trained = segments.some((segment) => segment.advantages);
  return [view === "advantage" && !trained ? h("p", { class: "soft" }, "Nothing of it was trained: a group without spread, or an arm that is only measured.") : null,
    segments.map((segment, place) => h("div", {}, segments.length > 1 ? h("p", { class: "soft small" }, `segment ${place + 1} of ${segments.length}`) : null, one(segment, scale)))];
}

function one(segment, scale) {
  const block = h("pre", { class: "text tokens", tabindex: "0", role: "group", "aria-label": "tokens" });
  let given = "";
  const flush = () => { if (given) block.append(h("span", { class: "given" }, visible(given))); given = ""; };
  for (const [place, text] of segment.texts.entries()) {
    if (!segment.sampled[place]) { given += text; continue; }
    flush();
    if (!text) continue;
    const token = h("span", { class: "tok", title: scale.text(segment, place) }, visible(text));
    token.style.backgroundColor = scale.of(segment, place);
    block.append(token);
  }
  flush();
  if (segment.more) block.append(h("span", { class: "soft" }, ` … ${segment.more.toLocaleString("en")} more tokens`));
  return h("div", {}, block, h("p", { class: "soft small" }, `policy version ${segment.policy_version}, temperature ${segment.temperature}; grey text was given, not sampled`));
}
