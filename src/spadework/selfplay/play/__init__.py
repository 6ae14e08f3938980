"""The play stage: which episodes are played, in which arms, and how many."""
