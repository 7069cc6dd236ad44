"""`python -m symscope.cli`: the program, where its script is not on the path."""

from symscope.cli import main

main()
