"""Fakes that ship with the package: scripted policies and a stand-in endpoint."""
