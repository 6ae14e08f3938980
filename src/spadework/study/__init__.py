"""Studies compare arms over seeds, and decide hypotheses that were written down before the first run.

    spec (the file) -> frozen (its settings) -> jobs.study (the runs) -> series -> results -> plots, report

Nothing in this package runs a model; ``jobs.study`` does that, one job after the other.
"""
