"""Gram matrices of any size: tiles, storage on disk, health."""
