"""What Python users call; ``spadework`` itself re-exports it lazily (docs/python.md).

Each verb is a coroutine function ``NAME_async``, which runs on the caller's own event loop, and its synchronous twin
``NAME``, which runs on the background loop and waits.
"""
