"""The kinds of environment that this package brings along, one file each; ``envs.domain`` says what a domain is."""
