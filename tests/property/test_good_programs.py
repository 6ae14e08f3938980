"""More than a hundred programs that are known to be good: the checker has nothing to say of any of them."""

from __future__ import annotations

from spadework.envs.check.program import check_program, in_order
from spadework.envs.check.runtime import RuntimeChecks
from spadework.envs.sandbox.forkserver.client import ForkServer
from spadework.resources import shipped

FOLDERS = ("games", "tool_use")


async def test_no_bundled_program_is_complained_of() -> None:
    root = shipped("examples") / "environments"
    files = [path for folder in FOLDERS for path in sorted((root / folder).glob("*.py"))]
    assert len(files) > 100
    said = {}
    async with ForkServer() as sandbox:
        results = in_order(files, lambda path: check_program(sandbox, path.read_text("utf-8"), RuntimeChecks()), 3)
        async for path, checked in results:
            assert not isinstance(checked, Exception), path
            found = [str(finding) for finding in checked.findings if finding.severity != "info"]
            if found:
                said[path.name] = found
    assert said == {}
