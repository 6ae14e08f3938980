// Episodes, paged: filter and sort, then open one beside its other arm.

import { get, isReport } from "ui/api.js";
import { count, field, h, number, visible } from "ui/dom.js";
import { dataTable, picker, searchBox } from "ui/table.js";

const ARMS = [["", "all"], ["unhinted", "unhinted"], ["hinted", "hinted"], ["placebo", "placebo"], ["answer_only", "answer only"]];
const ENDINGS = [["", "all"], ["terminated", "terminated"], ["truncated", "truncated"], ["token_limit", "token limit"], ["fault", "fault"]];
const FAULTS = [["", "all"], ["program", "program"], ["sandbox", "sandbox"], ["endpoint", "endpoint"], ["grader", "grader"]];

export async function episodes({ params, run, runName, keep, link }) {
  const slots = new Map(); // episode -> the cells that its preview fills in
  function slot(row, key) {
    const place = h("span", { class: key === "preview" ? "soft small" : null });
    slots.set(row.id, { ...slots.get(row.id), [key]: place });
    return place;
  }

  // The table is there first: replies take longer to read than figures.
  async function load(query) {
    slots.clear();
    const found = await get("episodes", { run, ...query });
    setTimeout(fill, 0, found.rows.map((row) => row.id));
    return found;
  }

  async function fill(ids) {
    if (!ids.length) return;
    const { previews } = await get("previews", { run, ids: ids.join(",") }).catch(() => ({ previews: {} }));
    for (const [id, { preview, tokens }] of Object.entries(previews)) {
      slots.get(id)?.preview.replaceChildren(...visible((preview ?? "").slice(0, 140)));
      slots.get(id)?.tokens.replaceChildren(count(tokens));
    }
  }

  const columns = [
    { key: "id", label: "episode", kind: "id", sort: false, show: (row) => h("a", { href: link("episode", { run, id: row.id }) }, visible(row.id)) },
    { key: "cycle", label: "cycle", number: true, show: (row) => String(row.cycle + 1) },
    { key: "environment", label: "environment", kind: "id", show: (row) => h("a", { href: link("environment", { run, id: row.environment }) }, visible(row.environment)) },
    { key: "arm", label: "arm" },
    { key: "seed", label: "seed", number: true },
    { key: "turns", label: "turns", number: true, sort: false },
    { key: "tokens", label: "tokens", number: true, sort: false, show: (row) => slot(row, "tokens") },
    { key: "ending", label: "ending" },
    { key: "return", label: "return", number: true, show: (row) => h("span", { class: row.return >= 1 - 1e-6 ? "good" : "" }, number(row.return)) },
    { key: "fault", label: "fault", show: (row) => (row.fault ? h("span", { class: "bad" }, visible(`${row.fault_kind} ${row.fault}`)) : "") },
    { key: "preview", label: "first reply", kind: "long", sort: false, show: (row) => slot(row, "preview") },
    { key: "beside", label: "what the hint changed", sort: false, show: (row) => h("a", { href: link("episode", { run, id: row.id, view: "changes" }), "aria-label": `both replies, seed ${row.seed}` }, "both replies") },
  ];
  const { search = "", reply = "", environment = "", cycle = "", arm = "", ending = "", fault = "", result = "", sort = "", desc = "", offset = 0 } = params;
  const table = dataTable({ columns, caption: `Episodes of ${runName}, newest cycle first`, state: { search, reply, environment, cycle, arm, ending, fault, result, sort, desc, offset },
    load, onChange: keep });
  await table.refresh();
  const cycleBox = h("input", { type: "number", min: 1, value: cycle === "" ? null : Number(cycle) + 1, placeholder: "all", onchange: () => table.change({ cycle: cycleBox.value ? Number(cycleBox.value) - 1 : "", offset: 0 }) });
  const pick = (label, key, value, options) => picker(label, value, options, (chosen) => table.change({ [key]: chosen, offset: 0 }));
  const only = environment ? h("p", {}, "Only of environment ", h("a", { href: link("environment", { run, id: environment }) }, visible(environment)), ". ", h("a", { href: link("episodes", { run }) }, "Show all")) : null;
  const bar = h("div", { class: "bar" }, searchBox("Search in names", search, (text) => table.change({ search: text, offset: 0 })),
    isReport ? null : searchBox("Search in replies", reply, (text) => table.change({ reply: text, offset: 0 })), field("Cycle", cycleBox),
    pick("Arm", "arm", arm, ARMS), pick("Result", "result", result, [["", "all"], ["win", "win"], ["loss", "no win"]]), pick("Ending", "ending", ending, ENDINGS), pick("Fault", "fault", fault, FAULTS));
  return { nodes: [h("h1", {}, "Episodes"), only, bar, table.element].filter(Boolean), refresh: () => table.refresh() };
}
