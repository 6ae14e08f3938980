"""Models behind HTTP servers: OpenAI-compatible endpoints, and vLLM or SGLang as a sampler."""
