// The arc-cosine pair, and one layer's step on a kernel and its tangent. Before this file stand the constants of
// the network: T, LAYERS, NTK, ARC_DEGREE, ARC[], and per layer W_VAR, B_VAR, W_RATE, B_RATE, JUMP, PRODUCT, HALF,
// AT_ONE, AT_BOTH.

struct alignas(2 * sizeof(T)) Roots {
  T root, inverse;  // of a variance; the inverse is 0 where the variance is
};

__device__ __forceinline__ float root_of(float u) {
  float s;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(s) : "f"(u));
  return s;
}

// Two Newton steps from the hardware's approximation, then one correction: a last-bit error at most, no branches.
__device__ __forceinline__ double root_of(double u) {
  double y;
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(fmax(u, 1e-300)));
  const double half = 0.5 * u;
  y = y * fma(-half * y, y, 1.5);
  y = y * fma(-half * y, y, 1.5);
  const double s = u * y;
  return fma(fma(-s, s, u), 0.5 * y, s);
}

// A = sin a + (pi - a) c and B = pi - a for a = arccos c, with arccos |c| = sqrt(1 - |c|) p(2 |c| - 1).
__device__ __forceinline__ void arc(T c, T& A, T& B) {
  const T a = fmin(fabs(c), (T)1), t = fma((T)2, a, (T)-1);
  T p = ARC[ARC_DEGREE];
#pragma unroll
  for (int i = ARC_DEGREE - 1; i >= 0; --i) p = fma(p, t, ARC[i]);
  const T s = root_of((T)1 - a);
  const T angle = s * p;
  B = c < (T)0 ? angle : (T)3.14159265358979323846 - angle;
  A = fma(B, c < (T)0 ? -a : a, s * root_of((T)1 + a));
}

// k and theta before a piecewise-linear activation become those after it.
template <int l>
__device__ __forceinline__ void activate(T& k, T& theta, Roots one, Roots two, bool self) {
  if (self) {  // an input with itself at the same position: the recursion of variances
    k = one.root * one.root * HALF[l];
    if (NTK) theta *= one.root == (T)0 ? AT_BOTH[l] : HALF[l];
    return;
  }
  T A, B;
  arc(k * (one.inverse * two.inverse), A, B);
  k = fma(one.root * two.root * JUMP[l], A, PRODUCT[l] * k);
  if (NTK) {
    const bool z1 = one.root == (T)0, z2 = two.root == (T)0;
    theta *= z1 || z2 ? (z1 && z2 ? AT_BOTH[l] : AT_ONE[l]) : fma(JUMP[l], B, PRODUCT[l]);
  }
}

// A layer with weights, for the mean over its inputs of k and theta.
template <int l>
__device__ __forceinline__ void weigh(T& k, T& theta) {
  if (NTK) theta = fma(l ? W_VAR[l] : (T)0, theta, fma(W_RATE[l], k, B_RATE[l]));
  k = fma(W_VAR[l], k, B_VAR[l]);
}
