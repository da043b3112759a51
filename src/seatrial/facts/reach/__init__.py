"""Reaching released artefacts: the package index, single members of remote wheels, local files.

Nothing is installed or imported. Every read is bounded, every archive is treated as hostile.
"""
