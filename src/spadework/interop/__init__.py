"""One environment in other frameworks. Each file is the door to one of them and needs that framework's extra."""
