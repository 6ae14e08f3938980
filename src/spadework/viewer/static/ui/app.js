// The frame: which page the address names, which run it is of, the theme, and news of runs that are still written.

import { get, isReport, reportNote } from "ui/api.js";
import { forgetCharts, redrawAll } from "ui/charts.js";
import { flat, h, prose } from "ui/dom.js";
import { design } from "ui/design.js";
import { environment } from "ui/environment.js";
import { environments } from "ui/environments.js";
import { episode } from "ui/episode.js";
import { episodes } from "ui/episodes.js";
import { evaluation } from "ui/evaluation.js";
import { overview } from "ui/overview.js";
import { rejections } from "ui/rejections.js";
import { curriculum } from "ui/timeline.js";

const TABS = { overview: "Overview", curriculum: "Curriculum", environments: "Environments", episodes: "Episodes", rejections: "Rejections", evaluation: "Evaluation" };
const PAGES = { overview, curriculum, environments, environment, episodes, episode, rejections, design, evaluation };
const PARENTS = { environment: "environments", episode: "episodes", design: "rejections" };
const POLL = 2000;

const main = document.getElementById("main"), live = document.getElementById("live"), runs = document.getElementById("run");
let shown = null, names = [], seen = "", visits = 0;

function place() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { path: path in PAGES ? path : "overview", params: Object.fromEntries(new URLSearchParams(query)) };
}

export function link(path, params) { return `#/${path}?${new URLSearchParams(params)}`; }

async function show({ focus = true } = {}) {
  const { path, params } = place();
  params.run ??= "0";
  runs.value = params.run;
  const tab = PARENTS[path] ?? path;
  for (const anchor of document.querySelectorAll("#tabs a")) {
    if (anchor.dataset.page === tab) anchor.setAttribute("aria-current", "page"); else anchor.removeAttribute("aria-current");
    anchor.href = link(anchor.dataset.page, { run: params.run });
  }
  forgetCharts();
  shown?.close?.();
  shown = null;
  const keep = (next) => history.replaceState(null, "", link(path, Object.fromEntries(Object.entries({ run: params.run, ...next }).filter(([, value]) => value !== "" && value !== 0))));
  const mine = ++visits;
  try {
    const made = await PAGES[path]({ params, run: Number(params.run), runName: names[Number(params.run)], names, keep, link });
    if (mine !== visits) return;
    main.replaceChildren(...made.nodes);
    shown = made;
    document.title = `${main.querySelector("h1")?.textContent ?? TABS[tab]} · spadework`;
  } catch (error) {
    if (mine !== visits) return;
    main.replaceChildren(h("h1", {}, TABS[tab]), h("p", { class: "bad", role: "alert" }, flat(error.message)));
  }
  if (focus) { main.focus({ preventScroll: true }); scrollTo(0, 0); }
}

async function poll() {
  try {
    const { runs: states } = await get("version");
    const now = JSON.stringify(states.map((state) => state.cycles));
    if (seen && now !== seen) {
      live.textContent = `New: ${states.map((state, run) => `${names[run]} has ${state.cycles} cycles`).join(", ")}`;
      await shown?.refresh?.();
    }
    seen = now;
  } catch {
    live.replaceChildren(...prose("The viewer has stopped; start it again with `spadework view`."));
  }
}

function theme(choice) {
  const dark = choice === "dark" || (choice === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  document.getElementById("theme").textContent = `Theme: ${choice}`;
  redrawAll();
}

function remembered() { try { return localStorage.getItem("spadework-theme") ?? "auto"; } catch { return "auto"; } }

function wireTheme() {
  const order = ["auto", "light", "dark"];
  let choice = remembered();
  theme(choice);
  document.getElementById("theme").addEventListener("click", () => {
    choice = order[(order.indexOf(choice) + 1) % order.length];
    try { localStorage.setItem("spadework-theme", choice); } catch { /* a file from disk may not keep anything */ }
    theme(choice);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => theme(choice));
}

async function start() {
  wireTheme();
  document.getElementById("tabs").append(...Object.entries(TABS).map(([page, text]) => h("li", {}, h("a", { "data-page": page, href: `#/${page}` }, text))));
  names = (await get("version")).runs.map((run) => flat(run.name));
  runs.append(...names.map((name, run) => h("option", { value: run }, name)));
  runs.addEventListener("change", () => {
    const { path } = place();
    location.hash = link(PARENTS[path] ?? path, { run: runs.value });
  });
  addEventListener("hashchange", () => show());
  await show({ focus: false });
  if (isReport) live.textContent = reportNote;
  else setInterval(poll, POLL);
}

start().catch((error) => { main.replaceChildren(h("p", { class: "bad", role: "alert" }, flat(error.message))); });
