// Where data comes from: the server, or, in a report, what the file itself holds.

const embedded = document.getElementById("data");
const held = embedded ? JSON.parse(embedded.textContent) : null;
export const isReport = held !== null;
export const reportNote = held?.note ?? "";

export async function get(path, query = {}) {
  const filled = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  if (isReport) return fromReport(path, Object.fromEntries(filled));
  const response = await fetch(`api/${path}?${new URLSearchParams(filled)}`);
  if (!response.ok) throw new Error(response.status === 404 ? "There is nothing of that name in this run." : await response.text());
  return response.json();
}

export async function post(path, body) {
  const response = await fetch(`api/${path}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

function fromReport(path, query) {
  const part = query.id ?? (path === "environments" && query.state === "rejected" ? "rejected" : "");
  const whole = held.answers[part ? `${path}/${part}` : path];
  if (whole === undefined) throw new Error("This report does not hold that; open the run with `spadework view`.");
  return "rows" in whole && "total" in whole ? cut(whole, query) : whole;
}

// What the server does with a table's query, for rows that are all here.
function cut(whole, { sort, desc, search, offset, limit, run, ...where }) {
  const needle = (search ?? "").toLowerCase();
  const rows = whole.rows.filter((row) =>
    Object.entries(where).every(([key, value]) => matches(row, key, value))
    && (!needle || Object.values(row).some((value) => typeof value === "string" && value.toLowerCase().includes(needle))));
  if (sort) {
    const sign = desc === "1" ? -1 : 1;
    rows.sort((a, b) => order(a[sort], b[sort], sign));
  }
  const from = Number(offset ?? 0);
  return { ...whole, rows: rows.slice(from, from + Number(limit ?? 50)), total: rows.length };
}

function matches(row, key, value) {
  if (key === "result") return row.return !== null && (row.return >= 1 - 1e-6) === (value === "win");
  if (key === "fault") return row.fault_kind === value;
  return String(row[key]) === value;
}

function order(a, b, sign) {
  const missing = (a ?? null) === null ? 1 : 0, other = (b ?? null) === null ? 1 : 0;
  if (missing || other) return missing - other;
  return sign * (a < b ? -1 : a > b ? 1 : 0);
}
