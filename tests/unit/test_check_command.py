from __future__ import annotations

import json

import pytest

from spadework.cli import main
from spadework.envs.check.findings import CODES
from spadework.resources import shipped

BROKEN = shipped("examples") / "environments" / "broken"
BAD, GOOD = BROKEN / "ENV403_coin_flip.py", BROKEN / "ENV403_coin_flip.fixed.py"


def test_exit_status_says_what_was_found(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["check", str(GOOD)]) == 0
    assert main(["check", str(GOOD), str(BAD)]) == 1
    out = capsys.readouterr().out
    assert f"{BAD}: ENV403" in out
    assert str(GOOD) not in out
    assert main(["check", str(BAD), "--ignore", "ENV403"]) == 0
    assert main(["check", str(GOOD), "--fatal", "ENV6"]) == 1
    assert main(["check", str(tmp_path / "none.py")]) == 2
    assert main(["check"]) == 2


def test_static_findings_carry_their_line(capsys):
    path = BROKEN / "ENV102_asks_the_keyboard.py"
    assert main(["check", "--static", str(path)]) == 1
    line = next(number for number, text in enumerate(path.read_text().splitlines(), 1) if "input(" in text)
    assert f"{path}:{line}: ENV102" in capsys.readouterr().out


def test_json_is_one_object_a_program(capsys):
    main(["check", "--json", str(BAD), str(GOOD)])
    bad, good = map(json.loads, capsys.readouterr().out.splitlines())
    assert {finding["code"] for finding in bad["findings"]} >= {"ENV403"}
    assert bad["findings"][0]["fatal"] is True
    assert good["statistics"]["win_rates"]["oracle"] == 1.0
    assert good["domain"] == "games"


def test_sarif_names_rules_files_and_lines(capsys):
    main(["check", "--sarif", "--static", str(BROKEN / "ENV101_imports_os.py")])
    log = json.loads(capsys.readouterr().out)
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == set(CODES)
    (result,) = run["results"]
    assert result["ruleId"] == "ENV101"
    location = result["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"].endswith("ENV101_imports_os.py")
    assert location["region"]["startLine"] == 2


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_is_explained(code, capsys):
    assert main(["check", "--explain", code.lower()]) == 0
    assert CODES[code].title in capsys.readouterr().out


def test_a_family_of_codes_is_listed(capsys):
    assert main(["check", "--explain", "env5"]) == 0
    out = capsys.readouterr().out
    assert all(code in out for code in CODES if code.startswith("ENV5"))
    assert "ENV403" not in out


def test_subfolders_are_walked_and_a_path_that_is_not_there_is_said(capsys, tmp_path):
    below = tmp_path / "one" / "two"
    below.mkdir(parents=True)
    (below / "bad.py").write_text((BROKEN / "ENV102_asks_the_keyboard.py").read_text())
    (tmp_path / "bad.py").write_text((BROKEN / "ENV101_imports_os.py").read_text())
    assert main(["check", "--static", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "ENV101" in out
    assert str(below / "bad") in out
    assert main(["check", "--static", str(tmp_path / "nosuch.py")]) == 2
    assert "no such file" in capsys.readouterr().err


def test_an_unknown_code_is_told(capsys):
    assert main(["check", "--explain", "ENV999"]) == 2
    assert "ENV999" in capsys.readouterr().err


def test_what_is_fatal_can_be_configured(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[tool.spadework.check]\nignore = ["ENV403"]\nfatal = ["ENV104"]\n')
    assert main(["check", str(BAD)]) == 0
    assert main(["check", "--static", str(BROKEN / "ENV104_prints.py")]) == 1
