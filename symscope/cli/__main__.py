"""`python -m symscope.cli`: the program, where its script is not on the path."""

from symscope.cli._program import program

program()
