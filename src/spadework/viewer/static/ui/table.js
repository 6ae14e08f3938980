// A table of rows that someone else sorts, filters and cuts into pages: plain markup that keyboards and readers know.

import { field, h, visible } from "ui/dom.js";

const PAGE = 50;

// columns: [{ key, label, number, sort, show(row) }]; load(query) -> { rows, total }; state: what the address keeps.
export function dataTable({ columns, load, caption, state, onChange, empty }) {
  const query = { sort: "", desc: "", offset: 0, ...state };
  const body = h("tbody", {});
  const said = h("span", { role: "status", class: "soft small" });
  const back = h("button", { type: "button", onclick: () => turn(-PAGE) }, "Previous");
  const on = h("button", { type: "button", onclick: () => turn(PAGE) }, "Next");
  const heads = columns.map((column) => head(column));
  const element = h("div", {},
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
      h("table", {}, h("caption", {}, caption), h("thead", {}, h("tr", {}, heads)), body)),
    h("div", { class: "bar" }, back, on, said));
  let asked = 0;

  function head(column) {
    const cell = h("th", { scope: "col", class: column.number ? "number" : null });
    if (column.sort === false) cell.append(column.label);
    else cell.append(h("button", { type: "button", onclick: () => sortBy(column) }, column.label, h("span", { "aria-hidden": "true" })));
    return cell;
  }

  function sortBy(column) {
    const again = query.sort === column.key;
    query.desc = again ? (query.desc === "1" ? "" : "1") : column.number ? "1" : "";
    query.sort = column.key;
    change({ offset: 0 });
  }

  function turn(by) { change({ offset: Math.max(0, Number(query.offset) + by) }); }

  function change(next) {
    Object.assign(query, next);
    onChange?.({ ...query });
    return refresh();
  }

  async function refresh() {
    const mine = ++asked;
    const found = await load({ ...query, limit: PAGE });
    if (mine !== asked) return found;
    for (const [place, column] of columns.entries()) {
      const sorted = query.sort === column.key;
      if (sorted) heads[place].setAttribute("aria-sort", query.desc === "1" ? "descending" : "ascending");
      else heads[place].removeAttribute("aria-sort");
      const arrow = heads[place].querySelector("span");
      if (arrow) arrow.textContent = sorted ? (query.desc === "1" ? " ▼" : " ▲") : "";
    }
    body.replaceChildren(...found.rows.map((row) => h("tr", {}, columns.map((column) => cell(column, row)))));
    if (!found.rows.length) body.append(h("tr", {}, h("td", { colspan: columns.length, class: "empty" }, empty ?? "Nothing matches.")));
    const from = Number(query.offset);
    said.textContent = found.total ? `${(from + 1).toLocaleString("en")} to ${(from + found.rows.length).toLocaleString("en")} of ${found.total.toLocaleString("en")}` : "none";
    back.disabled = from === 0;
    on.disabled = from + found.rows.length >= found.total;
    return found;
  }

  return { element, refresh, change, query };
}

function cell(column, row) {
  const shown = column.show ? column.show(row) : row[column.key];
  const content = typeof shown === "string" ? visible(shown) : shown ?? "–";
  return h("td", { class: column.number ? "number" : column.kind ?? null }, content);
}

// A small table that is all here, e.g. the figures behind a chart. A column of figures is told by its cells.
export function plainTable(labels, rows, caption) {
  const figures = labels.map((_, place) => place > 0 && rows.some((row) => isFigure(row[place])) && rows.every((row) => isFigure(row[place]) || ["–", ""].includes(row[place] ?? "–")));
  const kind = (place) => (figures[place] ? "number" : null);
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, h("table", {}, h("caption", {}, caption),
    h("thead", {}, h("tr", {}, labels.map((label, place) => h("th", { scope: "col", class: kind(place) }, visible(label))))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((value, place) =>
      h(place ? "td" : "th", { scope: place ? null : "row", class: kind(place) ?? (place ? "long" : null) }, value instanceof Node ? value : visible(value ?? "–"))))))));
}

function isFigure(value) { return typeof value === "number" || (typeof value === "string" && /^[-−]?[\d.,]+( %)?( to [-−]?[\d.,]+( %)?)?$/.test(value)); }

export function picker(label, value, options, onchange) {
  const select = h("select", { onchange: () => onchange(select.value) },
    options.map(([key, text]) => h("option", { value: key, selected: key === value }, text)));
  return field(label, select);
}

export function searchBox(label, value, onsearch) {
  let timer;
  const input = h("input", { type: "search", value, placeholder: "any text", oninput: () => { clearTimeout(timer); timer = setTimeout(() => onsearch(input.value), 250); } });
  return field(label, input);
}
