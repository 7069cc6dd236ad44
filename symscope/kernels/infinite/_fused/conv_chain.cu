// Convolutions of equal size with piecewise-linear activations, then pooling (POOLED) or flattening, for pairs of
// images. Constants from the host beside those of arc.cu: H, W, C, CIRCULAR, POOLED, KH[], KW[], S, GROUPS, RESIDENT.
//
// A convolution moves both positions together, so the displacement q - p never changes: each displacement is a
// small network of its own on one map over p. A thread owns S rows of one column: sums over columns are read from
// shared memory, sums over rows are made in registers. The first layer comes straight from the images, deeper
// ones exchange their maps through shared memory. With pooling a block holds one pair and walks through all
// displacements (modulo the size of the image: each pair of positions comes once); with flattening it holds one
// image and walks through its partners.

#define P (H * W)
#define LANES (((H + S - 1) / S) * W)
#define THREADS ((LANES * GROUPS + 31) / 32 * 32)
#define HX (KW[0] / 2)
#define WIDE (W + 2 * HX)

// An image with a margin on both sides: wrapped around, or zero.
__device__ void load_image(const T* __restrict__ from, T* to) {
  for (int i = threadIdx.x; i < C * H * WIDE; i += THREADS) {
    const int line = i / WIDE;
    int x = i % WIDE - HX;
    const bool inside = x >= 0 && x < W;
    if (CIRCULAR) x = x < 0 ? x + W : x >= W ? x - W : x;
    to[i] = CIRCULAR || inside ? from[line * W + x] : (T)0;
  }
}

__device__ __forceinline__ int wrapped(int y) { return y < 0 ? y + H : y >= H ? y - H : y; }

// Whether the tap that reads row `row` belongs to the output at row y: with zero padding both positions must stay
// inside, that is, neither may cross the edge nor the line where the second position wraps around.
__device__ __forceinline__ bool together(int row, int y, int cut) {
  return CIRCULAR || (row >= 0 && row < H && (row < cut) == (y < cut));
}

// Block-wide sums of two numbers, in thread 0.
__device__ __forceinline__ void block_sums(double& a, double& b, double (*totals)[32]) {
  for (int offset = 16; offset; offset >>= 1) {
    a += __shfl_down_sync(0xffffffffu, a, offset);
    if (NTK) b += __shfl_down_sync(0xffffffffu, b, offset);
  }
  if (THREADS == 32) return;
  if (threadIdx.x % 32 == 0) {
    totals[0][threadIdx.x / 32] = a;
    totals[1][threadIdx.x / 32] = b;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < THREADS / 32; ++w) {
      a += totals[0][w];
      b += totals[1][w];
    }
  }
}

// What a thread knows while it works on one displacement of one pair.
struct Place {
  int x, y0, cut_x, cut_y;
  int q[S];                  // second positions of its rows
  const Roots *roots1, *roots2;
  bool active, self;
};

template <int l>
__device__ __forceinline__ void activate_rows(T (&k)[S], T (&theta)[S], const Place& at) {
#pragma unroll
  for (int s = 0; s < S; ++s) {
    if (at.y0 + s >= H) continue;
    weigh<l>(k[s], theta[s]);
    activate<l>(k[s], theta[s], at.roots1[l * P + (at.y0 + s) * W + at.x], at.roots2[l * P + at.q[s]], at.self);
  }
}

// Layers after the first: maps in shared memory in, values of the thread's rows out.
template <int l>
__device__ __forceinline__ void deep_layers(T (&k)[S], T (&theta)[S], T* mk, T* mt, const Place& at) {
  if constexpr (l < LAYERS) {
    constexpr int hy = KH[l] / 2, hx = KW[l] / 2;
    __syncthreads();
    if (at.active) {
#pragma unroll
      for (int s = 0; s < S; ++s) {
        if (at.y0 + s >= H) continue;
        mk[(at.y0 + s) * W + at.x] = k[s];
        if (NTK) mt[(at.y0 + s) * W + at.x] = theta[s];
      }
    }
    __syncthreads();
    if (at.active) {
      T hk[S + 2 * hy], ht[S + 2 * hy];
#pragma unroll
      for (int i = 0; i < S + 2 * hy; ++i) {
        const int row = at.y0 + i - hy;
        const int line = min(CIRCULAR ? wrapped(row) : max(row, 0), H - 1) * W;
        T a = 0, b = 0;
#pragma unroll
        for (int d = -hx; d <= hx; ++d) {
          int column = at.x + d;
          if (CIRCULAR) column = column < 0 ? column + W : column >= W ? column - W : column;
          if (CIRCULAR || (column >= 0 && column < W && (column < at.cut_x) == (at.x < at.cut_x))) {
            a += mk[line + column];
            if (NTK) b += mt[line + column];
          }
        }
        hk[i] = a;
        ht[i] = b;
      }
#pragma unroll
      for (int s = 0; s < S; ++s) {
        T a = 0, b = 0;
#pragma unroll
        for (int d = 0; d < KH[l]; ++d) {
          if (together(at.y0 + s + d - hy, at.y0 + s, at.cut_y)) {
            a += hk[s + d];
            if (NTK) b += ht[s + d];
          }
        }
        k[s] = a * ((T)1 / (KH[l] * KW[l]));
        theta[s] = b * ((T)1 / (KH[l] * KW[l]));
      }
      activate_rows<l>(k, theta, at);
    }
    deep_layers<l + 1>(k, theta, mk, mt, at);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) conv_chain(
    const T* __restrict__ x1, const T* __restrict__ x2,
    const Roots* __restrict__ roots1, const Roots* __restrict__ roots2,
    const int* __restrict__ pairs, double* __restrict__ out,
    int n1, int n2, int pair_count, int chunks, int symmetric) {
  extern __shared__ unsigned char memory[];
  __shared__ double totals[2][2][32];
  T* const image1 = (T*)memory;
  T* const image2 = image1 + C * H * WIDE;
  const int group = threadIdx.x / LANES, lane = threadIdx.x % LANES;
  T* const mk = (POOLED ? image2 + C * H * WIDE : image2) + (group < GROUPS ? group : 0) * (NTK ? 2 : 1) * P;
  T* const mt = mk + P;
  constexpr int hy = KH[0] / 2;
  const int one = POOLED ? pairs[blockIdx.x] : blockIdx.x;
  const int first = POOLED ? pairs[pair_count + blockIdx.x] : one / n1 * n2;  // the partner, or the first of them
  const int least = !POOLED && symmetric ? one % n1 : 0, count = POOLED ? P : n2 - least;
  const int begin = least + (int)((long long)count * blockIdx.y / chunks);
  const int end = least + (int)((long long)count * (blockIdx.y + 1) / chunks);
  load_image(x1 + (size_t)one * C * P, image1);
  if (POOLED) load_image(x2 + (size_t)first * C * P, image2);
  __syncthreads();
  Place at;
  at.x = lane % W;
  at.y0 = lane / W * S;
  at.roots1 = roots1 + (size_t)one * LAYERS * P;
  // one channel: the thread's own window stays in registers for all displacements
  T own[S + 2 * hy][KW[0]];
#pragma unroll
  for (int i = 0; i < S + 2 * hy; ++i) {
    const int row = at.y0 + i - hy;
    const bool inside = row >= 0 && row < H;
#pragma unroll
    for (int d = 0; d < KW[0]; ++d) {
      own[i][d] = C == 1 && (CIRCULAR || inside) ? image1[min(wrapped(row), H - 1) * WIDE + at.x + d] : (T)0;
    }
  }
  double sum_k = 0, sum_t = 0;
  for (int start = begin; start < end; start += GROUPS) {
    const int item = start + group;
    at.active = group < GROUPS && item < end;
    const int shift = POOLED && at.active ? item : 0, two = POOLED ? first : first + (at.active ? item : begin);
    const int ry = shift / W, rx = shift % W;
    const int column2 = at.x + rx < W ? at.x + rx : at.x + rx - W;
    at.cut_x = W - rx;
    at.cut_y = H - ry;
    at.self = symmetric && one == two && shift == 0;
    at.roots2 = roots2 + (size_t)two * LAYERS * P;
#pragma unroll
    for (int s = 0; s < S; ++s) at.q[s] = min(wrapped(at.y0 + s + ry), H - 1) * W + column2;
    T k[S], theta[S], h[S + 2 * hy];
#pragma unroll
    for (int i = 0; i < S + 2 * hy; ++i) {
      const int row = at.y0 + i - hy;
      const int row1 = CIRCULAR ? wrapped(row) : min(max(row, 0), H - 1), row2 = wrapped(row1 + ry);
      h[i] = 0;
#pragma unroll
      for (int c = 0; c < C; ++c) {
#pragma unroll
        for (int d = 0; d < KW[0]; ++d) {
          const T a = C == 1 ? own[i][d] : image1[(c * H + min(row1, H - 1)) * WIDE + at.x + d];
          T b;
          if (POOLED) {
            b = image2[(c * H + min(row2, H - 1)) * WIDE + column2 + d];
          } else {  // the margin of image1 is zero where a zero-padded column is outside
            int column = at.x + d - HX;
            column = CIRCULAR ? (column < 0 ? column + W : column >= W ? column - W : column) : min(max(column, 0), W - 1);
            b = __ldg(x2 + ((size_t)two * C + c) * P + min(row2, H - 1) * W + column);
          }
          h[i] = fma(a, b, h[i]);
        }
      }
    }
#pragma unroll
    for (int s = 0; s < S; ++s) {
      T a = 0;
#pragma unroll
      for (int d = 0; d < KH[0]; ++d) {
        if (together(at.y0 + s + d - hy, at.y0 + s, at.cut_y)) a += h[s + d];
      }
      k[s] = a * ((T)1 / (C * KH[0] * KW[0]));
      theta[s] = 0;
    }
    activate_rows<0>(k, theta, at);
    deep_layers<1>(k, theta, mk, mt, at);
    T part_k = 0, part_t = 0;
    if (at.active) {
#pragma unroll
      for (int s = 0; s < S; ++s) {
        if (at.y0 + s < H) {
          part_k += k[s];
          part_t += theta[s];
        }
      }
    }
    if (POOLED) {
      sum_k += (double)part_k;
      sum_t += (double)part_t;
    } else {
      double a = part_k, b = part_t;
      block_sums(a, b, totals[start & 1]);
      if (threadIdx.x == 0) {
        out[(size_t)one * n2 + item] = a;
        out[((size_t)gridDim.x + one) * n2 + item] = b;
      }
    }
  }
  if (POOLED) {
    block_sums(sum_k, sum_t, totals[0]);
    if (threadIdx.x == 0) {
      out[(size_t)blockIdx.y * pair_count + blockIdx.x] = sum_k;
      out[((size_t)chunks + blockIdx.y) * pair_count + blockIdx.x] = sum_t;
    }
  }
}
