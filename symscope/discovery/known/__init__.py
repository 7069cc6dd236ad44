"""Known symmetries of standard layers, found in a module by following its units."""
