"""Looking at runs: statistics and figures."""
