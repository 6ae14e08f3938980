"""Tool use at run time: criteria and tools, looked at from within."""
