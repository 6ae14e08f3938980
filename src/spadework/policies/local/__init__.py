"""A causal language model in this process: it samples and it trains."""
