"""Who speaks and who learns."""

import os

# Read by OpenMP once, when torch is loaded: two threads that spin while they wait are seven times slower on busy cores.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
