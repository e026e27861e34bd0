"""Elastic waves by finite differences on the staggered grid."""
