"""Learned symmetries: actions and generators as networks, trained together."""
