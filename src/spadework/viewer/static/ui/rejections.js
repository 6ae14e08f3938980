// What became of the designer's attempts, by reason.

import { get } from "ui/api.js";
import { h, percent, visible } from "ui/dom.js";
import { dataTable, plainTable, searchBox } from "ui/table.js";

export async function rejections({ params, run, runName, keep, link }) {
  const { search = "", reason = "", outcome = params.reason ? "all" : "rejected", sort = "", desc = "", offset = 0 } = params;
  const columns = [
    { key: "id", label: "design", kind: "id", show: (row) => h("a", { href: link("design", { run, id: row.id }) }, visible(row.id)) },
    { key: "cycle", label: "cycle", number: true, show: (row) => String(row.cycle + 1) },
    { key: "skill", label: "skill" },
    { key: "document", label: "document", kind: "long" },
    { key: "reason", label: "outcome", show: (row) => h("span", { class: row.reason === "accepted" ? "good" : "bad" }, visible(row.reason)) },
    { key: "why", label: "what was found", kind: "long", show: (row) => row.why.slice(0, 400) },
  ];
  const title = h("h2", {}, "");
  const table = dataTable({ columns, caption: `Attempts of ${runName}`, state: { search, reason, outcome, sort, desc, offset }, load: (query) => get("designs", { run, ...query, outcome: query.outcome === "all" ? "" : query.outcome }), onChange: keep });
  const head = () => { title.textContent = table.query.reason ? `Attempts: ${table.query.reason}` : table.query.outcome === "rejected" ? "Rejected attempts" : "All attempts"; };
  const show = (query) => { table.change({ reason: "", outcome: "all", offset: 0, ...query }); head(); };
  const summary = h("div", {});

  async function fill() {
    const [{ reasons, attempts }] = await Promise.all([get("rejections", { run }), table.refresh()]);
    const rows = reasons.map((one) => [h("button", { type: "button", class: "plain", onclick: () => show({ reason: one.reason }) }, visible(one.reason)), one.title || "–", one.count, percent(one.share),
      h("span", {}, one.examples.map((example) => h("div", { class: "small" }, h("a", { href: link("design", { run, id: example.id }) }, visible(example.id)), " ", visible(example.why.slice(0, 140)))))]);
    summary.replaceChildren(attempts ? plainTable(["outcome", "meaning", "count", "share", "examples"], rows, `${attempts} attempts`) : h("p", { class: "empty" }, "No attempts: this run has no designer, or none was due yet."));
    head();
  }

  await fill();
  return { nodes: [h("h1", {}, "Rejections"), summary, title, h("div", { class: "bar" }, searchBox("Search", search, (text) => table.change({ search: text, offset: 0 })),
    h("button", { type: "button", onclick: () => show({ outcome: "rejected" }) }, "All rejected"), h("button", { type: "button", onclick: () => show({}) }, "All attempts")), table.element], refresh: fill };
}
