"""Everyone chooses kernels for this CPU: import it before numpy.

Workplaces set OPENBLAS_CORETYPE and the like for reasons of their own (so that every machine rounds alike, say), and a peer
that is kept from half of the CPU is a strawman.
"""
import os

for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(name, None)
