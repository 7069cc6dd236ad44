"""The kill suite: the real program, killed at random moments until its run is finished (`make torture`).

An episode is one run folder. The program is started, hit by a signal, started again, until it has been hit
often enough; then it may finish. Some episodes have a disk that is full at first, some two programs on one
folder, some a Dask cluster whose workers and scheduler are hit. Counted are the kills, finished cells that
are lost or changed, files and processes that are left over, tracebacks, unexpected exit statuses, and tables
that are not, byte for byte, those of a run that nobody touched.
"""
