/* Convolutions of equal size with piecewise-linear activations, then pooling (POOLED) or flattening, for pairs of
   images on a CPU. Constants from the host beside those of arc.h: H, W, C, CIRCULAR, POOLED, KH[], KW[], LANES.

   A convolution moves both positions together, so the displacement q - p never changes: each displacement is a small
   network of its own on one map over p. LANES of them are worked on side by side, in the lanes of vector registers:
   with pooling, displacements that differ in their column, whose second positions are neighbours; with flattening,
   partners of one image, stored beside each other. So no operation ever crosses lanes.

   Second images and their roots are [.., H, SPAN] with columns repeated (pooling), or [.., H, W, SPAN] (flattening). */

#define P (H * W)

/* Whether the tap at `row` belongs to the output at row y: with zero padding both positions must stay inside, so
   neither may cross the edge, nor the line where the second position wraps around. */
INLINE int together(int row, int y, int ry) {
  return CIRCULAR || (row >= 0 && row < H && (row + ry >= H) == (y + ry >= H));
}

INLINE int wrapped(int i, int size) { return i < 0 ? i + size : i >= size ? i - size : i; }

/* Sums along rows: out[y][x] = sum_d map[y][x + d]; `apart` is 0 where the second position wraps between the two. */
static void row_sums(int taps, const T *restrict map, T *restrict out, const T *restrict apart, int span) {
  const int half = taps / 2;
  for (int y = 0; y < H; ++y)
    for (int x = 0; x < W; ++x) {
      T sum[LANES] = {0};
      for (int d = -half; d <= half; ++d) {
        const int column = CIRCULAR ? wrapped(x + d, W) : x + d;
        if (column < 0 || column >= W) continue;
        const T *const from = map + (size_t)(y * W + column) * LANES;
        if (CIRCULAR || !POOLED || d == 0)
          for (int l = 0; l < LANES; ++l) sum[l] += from[l];
        else
          for (int l = 0; l < LANES; ++l) sum[l] += from[l] * apart[(size_t)(d + half) * span + x + l];
      }
      memcpy(out + (size_t)(y * W + x) * LANES, sum, sizeof sum);
    }
}

/* Sums along columns of one position, of what row_sums made. */
INLINE void column_sum(int taps, const T *restrict sums, T *restrict total, int y, int x, int ry) {
  const int half = taps / 2;
  for (int l = 0; l < LANES; ++l) total[l] = 0;
  for (int d = -half; d <= half; ++d) {
    const int row = y + d;
    if (!together(row, y, ry)) continue;
    const T *const from = sums + (size_t)((CIRCULAR ? wrapped(row, H) : row) * W + x) * LANES;
    for (int l = 0; l < LANES; ++l) total[l] += from[l];
  }
}

/* One set of lanes: all layers, then the sums over positions of k and theta, added to `sum_k` and `sum_theta`. */
static void lanes(
    const T *restrict x1, const T *restrict x2, const T *restrict root1, const T *restrict inverse1,
    const T *restrict root2, const T *restrict inverse2, const T *restrict apart, int span, int ry, int self,
    T *restrict work, double *restrict sum_k, double *restrict sum_theta) {
  const size_t step = POOLED ? 1 : span, line = POOLED ? span : (size_t)W * span, image = H * line;
  T *const k = work, *const theta = k + (size_t)P * LANES, *const sk = theta + (size_t)P * LANES;
  T *const st = sk + (size_t)P * LANES;
  for (int y = 0; y < H; ++y) {
    const size_t second = wrapped(y + ry, H) * line;
    for (int x = 0; x < W; ++x) {
      T product[LANES] = {0};
      for (int c = 0; c < C; ++c) {
        const T a = x1[c * P + y * W + x], *const b = x2 + c * image + second + x * step;
        for (int l = 0; l < LANES; ++l) product[l] += a * b[l];
      }
      memcpy(k + (size_t)(y * W + x) * LANES, product, sizeof product);
    }
  }
#pragma GCC unroll 16
  for (int layer = 0; layer < LAYERS; ++layer) {
    const T scale = (T)1 / ((layer ? 1 : C) * KH[layer] * KW[layer]);
    row_sums(KW[layer], k, sk, apart + (size_t)layer * TAPS * span, span);
    if (NTK && layer) row_sums(KW[layer], theta, st, apart + (size_t)layer * TAPS * span, span);
    for (int y = 0; y < H; ++y) {
      const size_t second = layer * image + wrapped(y + ry, H) * line;
      for (int x = 0; x < W; ++x) {
        const int p = y * W + x;
        T a[LANES], t[LANES] = {0};
        column_sum(KH[layer], sk, a, y, x, ry);
        if (NTK && layer) column_sum(KH[layer], st, t, y, x, ry);
        const T r1 = root1[layer * P + p], i1 = inverse1[layer * P + p];
        const T *const r2 = root2 + second + x * step, *const i2 = inverse2 + second + x * step;
        for (int l = 0; l < LANES; ++l) {
          a[l] *= scale;
          t[l] *= scale;
          weigh(layer, &a[l], &t[l]);
        }
        T own_k = 0, own_theta = self >= 0 ? t[self] : 0;
        if (self >= 0) activate_self(layer, &own_k, &own_theta, r1);
        for (int l = 0; l < LANES; ++l) activate(layer, &a[l], &t[l], r1, i1, r2[l], i2[l]);
        if (self >= 0) {
          a[self] = own_k;
          t[self] = own_theta;
        }
        memcpy(k + (size_t)p * LANES, a, sizeof a);
        if (NTK) memcpy(theta + (size_t)p * LANES, t, sizeof t);
      }
    }
  }
  for (int y = 0; y < H; ++y) {
    T row_k[LANES] = {0}, row_theta[LANES] = {0};
    for (int x = 0; x < W; ++x)
      for (int l = 0; l < LANES; ++l) {
        row_k[l] += k[(size_t)(y * W + x) * LANES + l];
        if (NTK) row_theta[l] += theta[(size_t)(y * W + x) * LANES + l];
      }
    for (int l = 0; l < LANES; ++l) {
      sum_k[l] += row_k[l];
      sum_theta[l] += row_theta[l];
    }
  }
}

/* With pooling: pairs `begin` to `end` of the list [2][count]. With flattening: rows begin to end, partners from the
   row itself (symmetric) or from 0, within the batch of n2. Sums over positions go to out: [2][count] or [2][rows][n2],
   partners rounded up to LANES. */
void conv_chain(
    const T *restrict x1, const T *restrict x2, const T *restrict root1, const T *restrict inverse1,
    const T *restrict root2, const T *restrict inverse2, const T *restrict apart, const int *restrict pairs,
    double *restrict out, int begin, int end, int count, int n1, int n2, int span, int symmetric) {
  T *const work = aligned_alloc(64, (sizeof(T) * 4 * P * LANES + 63) / 64 * 64);
  const size_t size2 = POOLED ? (size_t)H * span : (size_t)P * span;
  for (int item = begin; item < end; ++item) {
    const int one = POOLED ? pairs[item] : item, two = POOLED ? pairs[count + item] : item / n1;
    const T *const images = x1 + (size_t)one * C * P;
    const T *const r1 = root1 + (size_t)one * LAYERS * P, *const i1 = inverse1 + (size_t)one * LAYERS * P;
    const T *const others = x2 + two * C * size2;
    const T *const r2 = root2 + two * LAYERS * size2, *const i2 = inverse2 + two * LAYERS * size2;
    if (POOLED) {
      double sum_k = 0, sum_theta = 0;
      for (int ry = 0; ry < H; ++ry)
        for (int rx = 0; rx < W; rx += LANES) {
          double a[LANES] = {0}, b[LANES] = {0};
          const int self = symmetric && one == two && ry == 0 && rx == 0 ? 0 : -1;
          lanes(images, others + rx, r1, i1, r2 + rx, i2 + rx, apart + rx, span, ry, self, work, a, b);
          for (int l = 0; l < LANES && rx + l < W; ++l) {
            sum_k += a[l];
            sum_theta += b[l];
          }
        }
      out[item] = sum_k;
      out[count + item] = sum_theta;
    } else {
      const int own = item % n1;
      for (int j = symmetric ? own / LANES * LANES : 0; j < n2; j += LANES) {
        double a[LANES] = {0}, b[LANES] = {0};
        const int self = symmetric && own >= j && own < j + LANES ? own - j : -1;
        lanes(images, others + j, r1, i1, r2 + j, i2 + j, apart, span, 0, self, work, a, b);
        for (int l = 0; l < LANES && j + l < n2; ++l) {
          out[(size_t)item * n2 + j + l] = a[l];
          out[(size_t)count * n2 + (size_t)item * n2 + j + l] = b[l];
        }
      }
    }
  }
  free(work);
}
