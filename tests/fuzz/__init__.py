"""Inputs that nobody would type, by the thousand: every one must run, or be refused with a clear error.

python -m tests.fuzz --minutes 60        all areas on all cores; `make fuzz`
python -m tests.fuzz --replay files:123  one input again, with its traceback

An input is an area and a seed: the area's function makes it from the seed alone. Areas: `cli`, `files`,
`grammar`, `runs` (damaged run folders), `api` (the example of every public function, its arguments changed),
`objects` (the same for the classes and functions that those examples reach) and, on demand, `methods`.
"""
