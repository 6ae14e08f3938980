"""Settings of earlier versions: configs and runs that hold them still read."""

from spadework.config import RunConfig
from spadework.config.files import dump_config, load_config, parse_stored_config


def test_a_removed_setting_is_left_out_of_configs_and_runs(tmp_path):
    path = tmp_path / "old.toml"
    path.write_text("[designer]\nmax_structure_share = 0.5\nrecent = 40\n")
    assert load_config(str(path)).designer.recent == 40
    stored = dump_config(RunConfig())
    stored["designer"]["max_structure_share"] = 1 / 3
    assert parse_stored_config(stored, "run.sqlite") == RunConfig()
