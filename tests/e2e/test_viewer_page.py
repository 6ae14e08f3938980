"""The viewer as a person sees it, in Debian's chromium: ``apt-get install chromium``, ``pip install playwright``."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.hostile.texts import LONG, hostile_run
from tests.runs import start_cli
from tests.viewers import Viewer, train, viewing

from spadework.cli import main
from spadework.resources import shipped

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium: apt-get install chromium"),
]
playwright = pytest.importorskip("playwright.sync_api", reason="needs the extra browser: pip install playwright")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("runs")
    one, two = train(folder / "one"), train(folder / "two", "run.seed=1", "run.cycles=3")
    with sqlite3.connect(one / "run.sqlite") as database:  # a game of six turns, for a person to play
        source = (shipped("examples") / "environments" / "games" / "code_breaker.py").read_text()
        row = ("breaker", 3, "Logic", "games", "", 0, "[]", None, "", source, "Keep what still fits.")
        database.execute(f"INSERT INTO environments VALUES ({', '.join('?' * len(row))})", row)
    return [one, two]


@pytest.fixture(scope="module")
def browser(runs: list[Path]) -> Iterator[Any]:
    """After the runs: playwright keeps an event loop in this thread, and training wants one of its own."""
    with playwright.sync_playwright() as play:
        started = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def viewer(runs: list[Path]) -> Iterator[Viewer]:
    with viewing(*runs) as started:
        yield started


@contextmanager
def opened(browser: Any, address: str, width: int = 1280, **options: Any) -> Iterator[Any]:
    """A page whose console stays silent and which asks nobody but its own server."""
    context = browser.new_context(viewport={"width": width, "height": 900}, **options)
    page = context.new_page()
    page.set_default_timeout(20_000)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    home = address.partition("#")[0].rpartition("/")[0] + "/"
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    page.wait_for_selector("main h1")
    yield page
    context.close()
    assert wrong == []
    assert [url for url in asked if not url.startswith((home, "data:"))] == []


def until(page: Any, script: str, argument: object = None) -> None:
    """Ask until it is true: the page's own policy forbids what ``wait_for_function`` would evaluate inside of it."""
    deadline = time.monotonic() + 20
    while not page.evaluate(script, argument):
        assert time.monotonic() < deadline, script
        page.wait_for_timeout(50)


def column(page: Any, place: int) -> list[str]:
    return [
        cell.strip()
        for cell in page.locator(f"main table >> nth=0 >> tbody tr td:nth-child({place})").all_inner_texts()
    ]


def test_two_runs_are_overlaid_and_smoothed(browser: Any, viewer: Viewer) -> None:
    with opened(browser, viewer.address) as page:
        assert page.locator(".run-card h2").all_inner_texts() == ["one 4 cycles, done", "two 3 cycles, done"]
        keys = page.locator("figure", has_text="Win rate").first.locator(".keys li").all_inner_texts()
        assert keys == ["one unhinted", "one hinted", "two unhinted", "two hinted"]
        page.locator("figure details summary").first.click()
        page.wait_for_selector("figure table tbody tr")
        assert page.locator("figure table tbody tr").count() == 4
        until(page, "document.querySelectorAll('canvas').length >= 3")
        canvas = page.locator("figure canvas").first
        before = canvas.screenshot()
        page.get_by_label("Smoothing").fill("0.9")
        assert canvas.screenshot() != before
        assert page.locator("text=run.seed").count() == 1


def test_environments_are_sorted_filtered_and_opened(browser: Any, viewer: Viewer) -> None:
    with opened(browser, viewer.address + "#/environments?run=0") as page:
        head = page.get_by_role("columnheader", name="win rate")
        head.get_by_role("button").focus()
        page.keyboard.press("Enter")
        page.wait_for_selector("th[aria-sort=descending]")
        *rates, unplayed = column(page, 5)
        assert rates == sorted(rates, key=float, reverse=True) and len(rates) == 8 and unplayed == "–"
        page.keyboard.press("Enter")
        page.wait_for_selector("th[aria-sort=ascending]")
        assert column(page, 5) == [*sorted(rates, key=float), "–"]
        page.get_by_label("State", exact=True).select_option("in pool")
        until(page, "document.querySelectorAll('main tbody tr').length === 2")
        page.get_by_label("State", exact=True).select_option("rejected")
        page.wait_for_selector("text=ENV001")
        page.get_by_label("State", exact=True).select_option("")
        page.get_by_label("Search").fill("logical")
        until(page, "[...document.querySelectorAll('main tbody tr')].every(r => r.innerText.includes('Logical'))")
        name = page.locator("main tbody a").first.inner_text()
        page.locator("main tbody a").first.click()
        page.wait_for_selector("text=Relatives through memory")
        assert page.locator("h1").inner_text() == name
        assert page.locator("pre.source .k", has_text="class").count() >= 1
        page.get_by_role("button", name="Run the checks").click()
        page.wait_for_selector("text=oracle >> nth=0")
        page.go_back()
        page.wait_for_selector("h1:text('Environments')")
        assert page.get_by_label("Search").input_value() == "logical"


def test_a_point_of_the_scatter_opens_its_environment(browser: Any, viewer: Viewer) -> None:
    with opened(browser, viewer.address + "#/environments?run=1") as page:
        chart = page.locator(".chart").first
        chart.scroll_into_view_if_needed()
        page.wait_for_selector(".chart canvas")
        at = page.evaluate("""() => { const box = document.querySelector('.chart');
            return box.chart.convertToPixel({ seriesIndex: 0 }, box.chart.getOption().series[0].data[0].value); }""")
        box = chart.bounding_box()
        page.mouse.click(box["x"] + at[0], box["y"] + at[1])
        page.wait_for_selector("text=Play it yourself")


def test_the_map_says_what_it_shows_and_can_be_laid_out_otherwise(browser: Any, viewer: Viewer) -> None:
    with opened(browser, viewer.address + "#/environments?run=0&kind=tfidf") as page:
        page.wait_for_selector("text=Near is alike: t-SNE of TF-IDF + LSA-128 vectors, 9 environments")
        page.get_by_label("Layout").select_option("PCA")
        page.wait_for_selector("text=Near is alike: PCA of TF-IDF + LSA-128 vectors, 9 environments")
        assert "way=PCA" in page.url and "kind=tfidf" in page.url
        chart = page.locator(".chart").nth(1)
        chart.scroll_into_view_if_needed()
        page.wait_for_selector(".chart >> nth=1 >> canvas")
        assert "Near is alike: PCA" in chart.get_attribute("aria-label")
        page.get_by_label("Colour of the plots").select_option("cycle")
        page.wait_for_selector("figure:has-text('Map by likeness') .keys >> text=cycle 1")
        assert page.get_by_label("Layout").input_value() == "PCA"


def test_two_episodes_are_compared(browser: Any, viewer: Viewer) -> None:
    with opened(browser, viewer.address + "#/episodes?run=0&cycle=0") as page:
        page.get_by_label("Arm").select_option("hinted")
        until(page, "[...document.querySelectorAll('main tbody tr')].every(r => r.innerText.includes('\\thinted'))")
        page.locator("main tbody tr a").first.click()
        page.wait_for_selector("section.card >> nth=1")
        assert page.locator("section.card h2").all_inner_texts() == ["hinted", "unhinted"]
        seeds = page.locator("section.card dl div:first-child dd").all_inner_texts()
        assert seeds[0] == seeds[1]
        page.get_by_label("Show").select_option("logprob")
        page.wait_for_selector(".tok")
        assert page.locator(".tok").first.get_attribute("title") == "log-probability -0.5"
        assert page.locator(".tok").first.evaluate("e => getComputedStyle(e).backgroundColor") != "rgba(0, 0, 0, 0)"
        page.get_by_label("Beside it").select_option("")
        until(page, "document.querySelectorAll('section.card').length === 1")


def test_what_a_hint_changed_is_marked(browser: Any, viewer: Viewer) -> None:
    with opened(browser, viewer.address + "#/episodes?run=0&cycle=0") as page:
        page.get_by_role("link", name="both replies").first.click()
        page.wait_for_selector("section.card >> nth=1")
        assert page.locator("section.card h2").all_inner_texts() == ["unhinted", "hinted"]
        before = page.locator("h1").inner_text()
        page.keyboard.press("j")
        until(page, "text => document.querySelector('h1').innerText !== text", before)
        page.keyboard.press("k")
        until(page, "text => document.querySelector('h1').innerText === text", before)


def test_the_curriculum_is_drawn_and_leads_on(browser: Any, viewer: Viewer) -> None:
    with opened(browser, viewer.address + "#/curriculum?run=0") as page:
        bars = page.locator("svg.curriculum > a")
        assert bars.count() == len({row["id"] for row in viewer.get("timeline", run=0)["environments"]})
        bars.first.focus()
        assert bars.first.evaluate("e => e.classList.contains('kin')")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=Relatives through memory")


def test_rejections_begin_with_what_was_refused(browser: Any, viewer: Viewer) -> None:
    with opened(browser, viewer.address + "#/rejections?run=0") as page:
        attempts = page.locator("main table >> nth=1 >> tbody tr")
        outcomes = attempts.locator("td:nth-child(5)").all_inner_texts()
        assert outcomes and "accepted" not in outcomes
        page.get_by_role("button", name="All attempts").click()
        page.wait_for_selector("main table >> nth=1 >> tbody >> text=accepted >> nth=0")
        assert "outcome=all" in page.url
        page.locator("main table >> nth=0 >> tbody").get_by_role("button", name="ENV001").click()
        page.wait_for_selector("h2:text('Attempts: ENV001')")
        until(page, "[...document.querySelectorAll('table')][1].innerText.match(/accepted/) === null")


def test_a_suite_stands_beside_the_papers_rows(browser: Any, viewer: Viewer, runs: list[Path]) -> None:
    for cycle, mean in (("start", 0.25), ("00002", 0.5)):
        folder = runs[0] / "evals" / cycle
        folder.mkdir(parents=True)
        score = {"mean": mean, "low": mean - 0.1, "high": mean + 0.1, "n": 30}
        result = {"setting": {"preset": "paper"}, "score": score, "groups": {}, "n": 30, "errors": 0}
        (folder / "aime2025.json").write_text(json.dumps(result))
    with opened(browser, viewer.address + "#/evaluation") as page:
        rows = page.locator(".beside tbody tr").all_inner_texts()
        assert rows[0].split("\t") == ["one, start", "25.0 %", "15.0 % to 35.0 %", "yours"]
        assert rows[1].split("\t") == ["one, cycle 3", "50.0 %", "40.0 % to 60.0 %", "yours"]
        scores = [float(row.split("\t")[1].rstrip(" %")) for row in rows[2:]]
        assert scores == sorted(scores, reverse=True) and "Table 1" in rows[2]
        page.wait_for_selector(".beside canvas")


def test_three_turns_are_played(browser: Any, viewer: Viewer) -> None:
    with opened(browser, viewer.address + "#/environment?run=0&id=breaker") as page:
        page.get_by_role("button", name="Start").click()
        for turn in range(3):
            page.get_by_label("your answer").fill("1 2 3")
            page.keyboard.press("Enter")
            page.wait_for_selector(f"text=turn {turn + 1}, reward")
        assert page.locator("[role=log] .turn").count() == 3
        assert "\\boxed{1 2 3}" in page.locator("[role=log]").inner_text()


def test_a_live_run_moves(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "live"
    settings = ("validation.panel=false", "play.episodes=12", "run.cycles=400", "designer.environments=6")
    process = start_cli("train", "scripted", "--run", path, *(a for s in settings for a in ("--set", s)))
    try:
        deadline = time.monotonic() + 60
        while not (path / "episodes" / "00000.parquet").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        with viewing(path) as viewer, opened(browser, viewer.address) as page:
            badge = page.locator(".run-card .badge")
            before = badge.inner_text()
            assert re.fullmatch(r"cycle \d+ of 400", before)
            until(page, "text => document.querySelector('.run-card .badge').innerText !== text", before)
            assert "New: live has" in page.locator("#live").inner_text()
    finally:
        process.kill()
        process.wait()


PAGES = ("overview", "curriculum", "environments", "environments?state=rejected", "environment?id=evil", "episodes", "rejections",
         "episode?id=0-evil-u0", "episode?id=0-evil-u0&view=logprob", "design?id=refused", "evaluation")  # fmt: skip


def test_what_a_model_wrote_stays_text(browser: Any, tmp_path: Path) -> None:
    with viewing(hostile_run(tmp_path / "hostile")) as viewer, opened(browser, viewer.address) as page:
        page.on("dialog", lambda dialog: pytest.fail(f"a dialog opened: {dialog.message}"))
        for name in PAGES:
            page.evaluate("document.querySelector('main').replaceChildren()")
            began = time.monotonic()
            page.goto(f"{viewer.address}#/{name}")
            page.wait_for_selector("main h1")
            assert time.monotonic() - began < 15, name
            assert page.locator("main [role=alert]").count() == 0, name
            assert page.evaluate("window.owned") is None, name
            assert page.locator("main :is(script, img, [onload], [onerror])").count() == 0, name
            if name not in ("curriculum", "environment?id=evil"):  # which draw their own
                assert page.locator("main :is(svg, b)").count() == 0, name
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
            if "view=" in name:
                page.wait_for_selector(".tokens")
            if name.startswith(("environment?", "episode?")):
                shown = page.locator("main").inner_text()
                assert "U+202E" in shown and "U+001B[31m" in shown and "<script>window.owned" in shown, name
                assert not re.search("[\u202e\u200b\x1b]", shown)
        page.goto(f"{viewer.address}#/design?id=refused")
        more = page.get_by_role("button", name="Show all 1,000,000 characters").first
        more.click()
        until(page, f"[...document.querySelectorAll('pre')].some(e => e.textContent.length >= {len(LONG)})")


def test_a_hostile_program_plays_as_text(browser: Any, tmp_path: Path) -> None:
    with viewing(hostile_run(tmp_path / "hostile")) as viewer, opened(browser, viewer.address) as page:
        page.goto(f"{viewer.address}#/environment?id=evil")
        page.get_by_role("checkbox", name="with the hint").check()
        page.get_by_role("button", name="Start").click()
        page.wait_for_selector("[role=log] pre, [role=log] .fault")
        assert page.evaluate("window.owned") is None
        assert page.locator("[role=log] :is(script, img, svg)").count() == 0


def test_a_report_opens_from_disk_without_a_network(browser: Any, runs: list[Path], tmp_path: Path) -> None:
    for run in (runs[0], hostile_run(tmp_path / "hostile")):
        out = tmp_path / f"{run.name}.html"
        assert main(["report", str(run), "--out", str(out), "--environments", "4"]) == 0
        with opened(browser, out.as_uri(), offline=True) as page:
            for tab in ("Curriculum", "Environments", "Episodes", "Rejections", "Evaluation", "Overview"):
                page.get_by_role("link", name=tab, exact=True).click()
                page.wait_for_selector(f"h1:text('{tab}')")
                assert page.locator("main [role=alert]").count() == 0
            page.get_by_role("link", name="Environments", exact=True).click()
            page.get_by_role("columnheader", name="regret").get_by_role("button").click()
            page.wait_for_selector("th[aria-sort]")
            page.locator("main tbody a").first.click()
            page.wait_for_selector("text=Relatives through memory")
            assert page.get_by_role("button", name="Start").count() == 0
            assert page.evaluate("window.owned") is None


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_fits_and_can_be_reached_by_keyboard(browser: Any, viewer: Viewer, width: int, scheme: str) -> None:
    name = viewer.get("episodes", run=0)["rows"][0]
    pages = ("overview", "environments", f"environment?id={name['environment']}", "episodes", f"episode?id={name['id']}",
             "rejections", "design?id=0-0-0", "evaluation", "curriculum")  # fmt: skip
    with opened(browser, viewer.address, width, color_scheme=scheme) as page:
        assert page.locator("html").get_attribute("data-theme") == scheme
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        for place in pages:
            page.goto(f"{viewer.address}#/{place}")
            until(page, "document.activeElement.id === 'main'")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), place
            unnamed = page.evaluate("""() => [...document.querySelectorAll('main :is(button, select, input, textarea, a)')]
                .filter(e => !(e.innerText || e.getAttribute('aria-label') || e.labels?.length)).map(e => e.outerHTML)""")
            assert unnamed == [], place
            assert page.locator("h1").count() == 1


PAGES = (
    "",
    "#/environments?run=0",
    "#/environment?run=0&id=breaker",
    "#/episodes?run=0&cycle=0",
    "#/curriculum?run=0",
    "#/rejections?run=0",
    "#/evaluation",
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_to_complain_of(browser: Any, viewer: Viewer, scheme: str, width: int) -> None:
    """The rules of axe-core for WCAG 2.1 A and AA, on every page: ``pip install axe-playwright-python`` carries it."""
    axe = pytest.importorskip("axe_playwright_python", reason="needs axe: pip install axe-playwright-python")
    source = (Path(axe.__file__).parent / "axe.min.js").read_text("utf-8")
    found = []
    for address in PAGES:
        with opened(browser, viewer.address + address, width, color_scheme=scheme) as page:
            page.wait_for_timeout(300)
            page.evaluate(source)
            result = page.evaluate("axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']})")
            assert len(result["passes"]) >= 10, address  # it looked
            found += [
                (address, one["id"], one["nodes"][0]["html"][:120], one["nodes"][0]["failureSummary"][:200])
                for one in result["violations"]
            ]
    assert found == []
