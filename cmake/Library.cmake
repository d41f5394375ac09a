# The shared library: every layer in one libmercer.so, only MERCER_API symbols shown.
