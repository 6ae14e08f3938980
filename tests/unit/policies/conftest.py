"""The local engine needs the extra ``local``; without it these tests are not collected."""

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("torch") else ["test_*.py"]
if not collect_ignore_glob:
    import torch

    torch.set_num_threads(1)  # tiny models gain nothing from more, and lose much on busy cores
