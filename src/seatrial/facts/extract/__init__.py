"""Extractors: one file per engine, static readers of released artefacts.

Shapes that engines share (dict of classes, Literal, argparse, decorators, C++ maps) have files of
their own beside them. ``registry.EXTRACTORS`` names them all.
"""
