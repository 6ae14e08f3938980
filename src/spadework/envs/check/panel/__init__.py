"""Players who know little and must not win, and where they play."""
