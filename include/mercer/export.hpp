#pragma once
/// Marks what the shared library shows to the world; everything else is hidden.
#if defined(__GNUC__)
#define MERCER_API __attribute__((visibility("default")))
#else
#define MERCER_API
#endif
