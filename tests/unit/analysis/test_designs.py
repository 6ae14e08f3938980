"""What became of attempts."""

from spadework.analysis.designs import outcomes
from spadework.types import Design, Fault


def attempt(findings=(), environment_id=None, fault=None):
    return Design("0-0-0", 0, 0, 0, "s", "d", (), "", "", "", (), findings, environment_id=environment_id, fault=fault)


def test_accepted_first_then_by_number():
    hung = attempt(("ENV205 step hung",))
    endpoint = attempt(fault=Fault("endpoint", "HTTP", "503"))
    done = outcomes(
        [attempt(("HINT leaked",)), hung, endpoint, attempt(environment_id="e"), hung, attempt(("ENV201: x",))]
    )
    assert list(done.items()) == [
        ("accepted", 1),
        ("ENV205", 2),
        ("ENV201", 1),
        ("HINT", 1),
        ("endpoint fault HTTP", 1),
    ]


def test_nothing_is_nothing_accepted():
    assert outcomes([]) == {"accepted": 0}
