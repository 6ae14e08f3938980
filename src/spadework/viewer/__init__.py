"""A local web page over run directories, live while they train.

``records.py`` reads a run, ``episodes.py`` its Parquet files; ``pages.py`` makes each page's JSON from them;
``app.py`` serves it on loopback, ``trials.py`` runs programs in the sandbox and ``layout.py`` makes the map.
``static/ui`` is the front end: plain ES modules, no build step.
"""
