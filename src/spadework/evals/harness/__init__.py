"""The official harnesses of the agentic suites: the only modules that import their packages."""
