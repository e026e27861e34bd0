"""Recordings around boxes, and incident waves from them, from files and from plane waves."""
