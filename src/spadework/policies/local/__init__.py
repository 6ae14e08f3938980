"""A causal language model in this process: ``sampler`` and what it uses sample from it, ``trainer`` trains it."""
