// Curves and scatters on ECharts, in the page's own colours; each has its figures as a table for who cannot see it.

import { flat, h, visible } from "ui/dom.js";
import { plainTable } from "ui/table.js";

const COLOURS = 8; // --c0 to --c7 of app.css
const DASHES = ["solid", "dashed", "dotted"];
const alive = new Set();

function css(name) { return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim(); }
function colourOf(place) { return css(`c${place % COLOURS}`); }
function ink() { return { text: css("ink"), soft: css("soft"), line: css("line"), paper: css("paper") }; }

const near = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting && entry.target.draw) { entry.target.draw(); near.unobserve(entry.target); }
}, { rootMargin: "300px" });
const sizes = new ResizeObserver((entries) => { for (const entry of entries) entry.target.chart?.resize(); });

// A place for a chart that draws itself when it comes near the screen, and again when its option changes.
export function chartBox(label, makeOption, { tall = false, onclick } = {}) {
  const box = h("div", { class: tall ? "chart tall" : "chart", role: "img", "aria-label": label });
  box.draw = async () => {
    await loadLibrary();
    if (!box.isConnected) return;
    box.chart ??= start(box, onclick);
    box.chart.setOption(makeOption(ink()), { notMerge: true });
  };
  alive.add(box);
  near.observe(box);
  return box;
}

function start(box, onclick) {
  const chart = globalThis.echarts.init(box, null, { renderer: "canvas" });
  if (onclick) chart.on("click", onclick);
  sizes.observe(box);
  return chart;
}

// The chart library is large: a page asks for it when it has charts, so that tables need not wait. A report holds it.
let library = null;
export function loadLibrary() {
  library ??= globalThis.echarts ? Promise.resolve() : new Promise((loaded, failed) => {
    document.head.append(h("script", { src: "static/vendor/echarts.common.min.js", onload: loaded, onerror: () => failed(new Error("The chart library could not be loaded.")) }));
  });
  return library;
}

export function redrawAll() { for (const box of alive) if (box.isConnected && box.chart) box.draw(); }

export function forgetCharts() {
  for (const box of alive) { box.chart?.dispose(); sizes.unobserve(box); near.unobserve(box); }
  alive.clear();
}

function base(colour, extra) {
  return {
    animation: false, textStyle: { color: colour.text, fontFamily: "system-ui, sans-serif" },
    grid: { left: 8, right: 14, top: 12, bottom: 6, containLabel: true },
    tooltip: { renderMode: "richText", confine: true, backgroundColor: colour.paper, borderColor: colour.line, textStyle: { color: colour.text, fontSize: 12 } },
    ...extra,
  };
}

function axis(colour, extra) {
  return { axisLine: { lineStyle: { color: colour.line } }, axisLabel: { color: colour.soft }, nameTextStyle: { color: colour.soft }, splitLine: { lineStyle: { color: colour.line } }, ...extra };
}

// lines: [{ name, points: [[cycle, value]], colour, dash, band: [[cycle, low, high]] }]; smoothing in [0, 1);
// share: the values lie in [0, 1], and so does the axis.
export function curves({ title, lines, smoothing, note, share = false }) {
  const label = `${title}: ${lines.map((line) => `${line.name} ends at ${last(line.points)}`).join("; ")}`;
  const box = chartBox(label, (colour) => base(colour, {
    grid: { left: 8, right: 14, top: 12, bottom: 20, containLabel: true },
    tooltip: { ...base(colour).tooltip, trigger: "axis", formatter: (found) => told(found) },
    xAxis: axis(colour, { type: "value", min: ({ min, max }) => (min < max ? min : min - 1), max: ({ min, max }) => (min < max ? max : max + 1), minInterval: 1, splitLine: { show: false }, name: "cycle", nameLocation: "middle", nameGap: 24, axisLabel: { color: colour.soft, formatter: (value) => (Number.isInteger(value) ? String(value) : "") }, axisPointer: { label: { formatter: ({ value }) => `cycle ${Math.round(value)}` } } }),
    yAxis: axis(colour, { type: "value", scale: true, ...(share ? { min: 0, max: 1 } : {}) }),
    series: lines.flatMap((line) => series(line, smoothing())),
  }));
  const table = h("details", {}, h("summary", {}, "figures"));
  table.addEventListener("toggle", () => { if (table.open && !table.querySelector("table")) table.append(figures(title, lines)); });
  const figure = h("figure", { class: "card" }, h("figcaption", {}, h("h3", {}, title), note ? h("span", { class: "soft small" }, note) : null, legend(lines)), box, table);
  figure.redraw = () => box.chart && box.draw();
  return figure;
}

function told(found) {
  const shown = found.filter((one) => !/ (low|width)$/.test(one.seriesName) || one.seriesName === undefined);
  return [`cycle ${Math.round(found[0].value[0])}`, ...shown.map((one) => `${one.seriesName}: ${typeof one.value[1] === "number" ? Number(one.value[1].toPrecision(4)) : "–"}`)].join("\n");
}

function legend(lines) {
  return h("ul", { class: "keys" }, lines.map((line) => h("li", {}, h("i", { class: `key-${line.colour % COLOURS} ${line.dot ? "dot" : DASHES[line.dash ?? 0]}`, "aria-hidden": "true" }), visible(line.name))));
}

function series(line, smoothing) {
  const colour = colourOf(line.colour);
  const name = flat(line.name);
  const points = smooth(line.points, smoothing).map(([cycle, value]) => [cycle + 1, value]);
  const drawn = [{ name, type: "line", data: points, showSymbol: points.length < 30, symbolSize: 5, connectNulls: false, lineStyle: { width: 2, type: DASHES[line.dash ?? 0], color: colour }, itemStyle: { color: colour }, sampling: "lttb" }];
  if (!line.band?.length) return drawn;
  const lows = smooth(line.band.map(([cycle, low]) => [cycle, low]), smoothing), highs = smooth(line.band.map(([cycle, , high]) => [cycle, high]), smoothing);
  const edge = { type: "line", stack: `${name} interval`, stackStrategy: "all", symbol: "none", lineStyle: { opacity: 0 }, tooltip: { show: false }, silent: true };
  return [...drawn,
    { ...edge, name: `${name} low`, data: lows.map(([cycle, low]) => [cycle + 1, low]) },
    { ...edge, name: `${name} width`, data: lows.map(([cycle, low], place) => [cycle + 1, low === null || highs[place][1] === null ? null : highs[place][1] - low]), areaStyle: { color: colour, opacity: 0.16 } }];
}

// Exponential mean with the start's bias removed; 0 leaves the points as they are.
export function smooth(points, weight) {
  if (!weight) return points;
  let mean = 0, mass = 0;
  return points.map(([cycle, value]) => {
    if (value === null) return [cycle, null];
    mean = weight * mean + (1 - weight) * value;
    mass = weight * mass + (1 - weight);
    return [cycle, mean / mass];
  });
}

function last(points) {
  const value = points.findLast(([, found]) => found !== null)?.[1];
  return value === undefined ? "nothing" : Number(value.toPrecision(3));
}

function figures(title, lines) {
  const cycles = [...new Set(lines.flatMap((line) => line.points.map(([cycle]) => cycle)))].sort((a, b) => a - b);
  const maps = lines.map((line) => new Map(line.points));
  const rows = cycles.map((cycle) => [cycle + 1, ...maps.map((map) => { const value = map.get(cycle); return value === undefined || value === null ? "–" : Number(value.toPrecision(4)); })]);
  return plainTable(["cycle", ...lines.map((line) => line.name)], rows, title);
}

// groups: Map name -> [{ value: [x, y], id }]; a click opens the point.
export function scatter({ title, groups, x, y, onopen, showAxes = true }) {
  const names = [...groups.keys()];
  const box = chartBox(`${title}. ${names.length} groups. The table on this page lists the same environments.`, (colour) => base(colour, {
    grid: { left: showAxes ? 30 : 8, right: 18, top: 12, bottom: showAxes ? 26 : 8, containLabel: true },
    tooltip: { ...base(colour).tooltip, formatter: (point) => `${point.seriesName}\n${flat(point.data.id)}${showAxes ? `\n${x}: ${point.value[0].toFixed(2)}, ${y}: ${point.value[1].toFixed(2)}` : ""}` },
    xAxis: axis(colour, { type: "value", scale: true, name: showAxes ? x : "", nameLocation: "middle", nameGap: 26, show: showAxes }),
    yAxis: axis(colour, { type: "value", scale: true, name: showAxes ? y : "", nameLocation: "middle", nameGap: 42, show: showAxes }),
    series: names.map((name, place) => ({ name: flat(name), type: "scatter", symbolSize: 9, data: groups.get(name), itemStyle: { color: colourOf(place), opacity: 0.8 } })),
  }), { tall: true, onclick: (point) => onopen(point.data.id) });
  return h("div", {}, legend(names.map((name, place) => ({ name, colour: place, dot: true }))), box);
}
