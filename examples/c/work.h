/* What both programs compute: B = A transposed, then D = relu(B C + bias) in f32. Their data, and the check of it. */
#ifndef WORK_H
#define WORK_H

#include <sectile/sectile.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kM = 48, kK = 64, kN = 32 };
/* In the order in which the buffers below are numbered. */
enum { kA, kB, kC, kBias, kD, kBuffers };

static const char* const kProblems[2] = {"permute f32 64x48 axes=1,0", "matmul f32 nn 48x32x64 epi=bias+relu"};

static const uint32_t kCounts[kBuffers] = {kK * kM, kM * kK, kK * kN, kN, kM * kN};

/* A function of Sectile that fails returns a status, and sectile_last_error() has the sentence. */
static void need(SectileStatus status, const char* what) {
  if (status == SECTILE_OK) return;
  fprintf(stderr, "%s: %s\n", what, sectile_last_error());
  exit(1);
}

/* Random numbers in [-1, 1) for sources; NaNs for what is to be written. */
static void fill(int buffer, float* out) {
  static uint32_t state = 12345;
  uint32_t i;
  if (buffer == kB || buffer == kD) {
    memset(out, 0xff, kCounts[buffer] * sizeof *out);
    return;
  }
  for (i = 0; i < kCounts[buffer]; ++i) {
    state = state * 1664525u + 1013904223u;
    out[i] = (float)((double)(state >> 8) / 8388608.0 - 1.0);
  }
}

/* How many results are wrong, by plain loops in double precision. */
static int wrong_results(const float* a, const float* b, const float* c, const float* bias, const float* d) {
  int wrong = 0, m, n, k;
  for (m = 0; m < kM; ++m)
    for (k = 0; k < kK; ++k) wrong += b[m * kK + k] != a[k * kM + m];
  for (m = 0; m < kM; ++m)
    for (n = 0; n < kN; ++n) {
      double sum = bias[n], magnitude = fabs(bias[n]);
      for (k = 0; k < kK; ++k) {
        const double product = (double)a[k * kM + m] * c[k * kN + n];
        sum += product;
        magnitude += fabs(product);
      }
      if (sum < 0) sum = 0;
      /* Written so that a NaN counts as wrong. */
      if (!(fabs(d[m * kN + n] - sum) <= 32 * magnitude / 16777216.0)) ++wrong;
    }
  return wrong;
}

/* Which buffer is the operand of this plan with this name. */
static int buffer_of(int plan, const char* name) {
  if (plan == 0) return strcmp(name, "src") == 0 ? kA : kB;
  if (strcmp(name, "a") == 0) return kB;
  if (strcmp(name, "b") == 0) return kC;
  if (strcmp(name, "d") == 0) return kD;
  return strcmp(name, "bias") == 0 ? kBias : -1; /* -1: scratch */
}

#endif
