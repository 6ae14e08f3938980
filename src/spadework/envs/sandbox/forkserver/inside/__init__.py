"""What runs in sandboxed processes: standard library only, imports nothing of ours but this folder."""
