"""Data that comes with the package; MNIST.txt beside this file states its origin and licence."""
