/* Microseconds of a clock that only goes forward. C99 has none of its own. Include it before all else. */
#ifndef CLOCK_H
#define CLOCK_H

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
static double microseconds(void) {
  LARGE_INTEGER now, frequency;
  QueryPerformanceFrequency(&frequency);
  QueryPerformanceCounter(&now);
  return (double)now.QuadPart * 1e6 / (double)frequency.QuadPart;
}
#else
#define _POSIX_C_SOURCE 199309L
#include <time.h>
static double microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}
#endif

#endif
