"""The papers, re-run: one folder per paper, one folder per experiment."""
