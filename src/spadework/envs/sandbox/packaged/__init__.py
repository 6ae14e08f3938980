"""Environments that come in packages: problem generators with verifiers, in worker processes of their own."""
