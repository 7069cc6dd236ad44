"""Tools of a release: lock files, known vulnerabilities, the bill of materials, what the packages hold."""
