/* The arc-cosine pair, and one layer's step on a kernel and its tangent, for a CPU. Before this file stand the
   constants of the network: T, LAYERS, NTK, ARC_DEGREE, ARC[], and per layer W_VAR, B_VAR, W_RATE, B_RATE, JUMP,
   PRODUCT, HALF, AT_ONE, AT_BOTH. Everything is free of branches, so that a compiler makes vector code of it. */

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

INLINE T root_of(T u) { return sizeof(T) == 4 ? (T)__builtin_sqrtf((float)u) : (T)__builtin_sqrt((double)u); }

/* The polynomial of arc cosine, its even and odd powers side by side: half the wait of Horner's rule. */
INLINE T polynomial(T t) {
  const T square = t * t;
  T even = ARC[ARC_DEGREE - 1], odd = ARC[ARC_DEGREE];
#pragma GCC unroll 32
  for (int i = ARC_DEGREE - 3; i >= 0; i -= 2) {
    even = even * square + ARC[i];
    odd = odd * square + ARC[i + 1];
  }
  return odd * t + even; /* the degree is odd */
}

/* k and theta before a piecewise-linear activation become those after it. A = sin a + (pi - a) c and B = pi - a for
   a = arccos c, with arccos |c| = sqrt(1 - |c|) p(2 |c| - 1). */
INLINE void activate(int layer, T *k, T *theta, T root1, T inverse1, T root2, T inverse2) {
  const T c = *k * (inverse1 * inverse2);
  const T size = c < 0 ? -c : c, a = size > 1 ? (T)1 : size, t = 2 * a - 1;
  T p = polynomial(t);
  const T s = root_of(1 - a), angle = s * p;
  const T B = c < 0 ? angle : (T)3.14159265358979323846 - angle;
  const T A = B * (c < 0 ? -a : a) + s * root_of(1 + a);
  *k = root1 * root2 * JUMP[layer] * A + PRODUCT[layer] * *k;
  if (NTK) {
    const int zeros = (root1 == 0) + (root2 == 0);
    const T slope = JUMP[layer] * B + PRODUCT[layer];
    *theta *= zeros == 0 ? slope : zeros == 1 ? AT_ONE[layer] : AT_BOTH[layer];
  }
}

/* A layer with weights, for the mean over its inputs of k and theta. */
INLINE void weigh(int layer, T *k, T *theta) {
  if (NTK) *theta = (layer ? W_VAR[layer] * *theta : 0) + W_RATE[layer] * *k + B_RATE[layer];
  *k = W_VAR[layer] * *k + B_VAR[layer];
}

/* An input with itself at the same position: the recursion of variances. */
INLINE void activate_self(int layer, T *k, T *theta, T root) {
  *k = root * root * HALF[layer];
  *theta *= root == 0 ? AT_BOTH[layer] : HALF[layer];
}
