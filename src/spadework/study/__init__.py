"""Studies: arms, seeds, measures and hypotheses said beforehand; runs that can be resumed; a report that decides.

    spec -> frozen -> plan -> (runs, by the command line) -> series -> results -> plots, report

Nothing here runs a model: ``cli.study`` does, job by job.
"""
