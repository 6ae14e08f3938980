"""Slots of an offline pool follow the design cycles of a run."""

from spadework.config import DesignerSection
from spadework.domains.games import GAMES
from spadework.domains.settings import settle_designer
from spadework.selfplay.design.designer import active_skills
from spadework.selfplay.design.offline import slot_number, slot_place


def test_numbers_and_places_are_one_to_one():
    settings = DesignerSection(environments=3, every=4)
    places = [slot_place(settings, number) for number in range(7)]
    assert places == [(0, 0), (0, 1), (0, 2), (4, 0), (4, 1), (4, 2), (8, 0)]
    assert [slot_number(settings, f"{cycle}-{slot}-2") for cycle, slot in places] == list(range(7))


def test_all_skills_get_their_turn():
    settings = settle_designer(DesignerSection(environments=3, every=4), GAMES)
    skills = [active_skills(settings, cycle)[slot] for cycle, slot in (slot_place(settings, n) for n in range(6))]
    assert sorted(skills) == sorted(settings.skills)
