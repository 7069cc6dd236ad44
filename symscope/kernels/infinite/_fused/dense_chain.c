/* A network of dense layers over a panel of a Gram: every layer in registers, both halves written at once. The last
   layer, number LAYERS, has no activation. Roots are [LAYERS][n]: of the variances at each activation. */

#define BAND 8 /* rows at a time: their mirror images fill whole cache lines */

void dense_chain(
    T *restrict products, T *restrict nngp, T *restrict ntk, const T *restrict root1, const T *restrict inverse1,
    const T *restrict root2, const T *restrict inverse2, int rows, int cols, int row0, int col0, int n1, int n2,
    int symmetric) {
  T *const tangent = malloc(sizeof(T) * BAND * (size_t)cols);
  for (int top = 0; top < rows; top += BAND) {
    const int band = rows - top < BAND ? rows - top : BAND;
    for (int b = 0; b < band; ++b) {
      const int row = row0 + top + b, self = symmetric ? row - col0 : -1;
      const int from = symmetric && self > 0 ? self : 0;
      T *const ks = products + (size_t)(top + b) * cols, *const thetas = tangent + (size_t)b * cols;
      T self_k = 0, self_theta = 0;
      if (self >= 0) {
        self_k = ks[self];
#pragma GCC unroll 64
        for (int layer = 0; layer < LAYERS; ++layer) {
          weigh(layer, &self_k, &self_theta);
          activate_self(layer, &self_k, &self_theta, root1[(size_t)layer * n1 + row]);
        }
        weigh(LAYERS, &self_k, &self_theta);
      }
#pragma GCC ivdep
      for (int j = from; j < cols; ++j) {
        T k = ks[j], theta = 0;
#pragma GCC unroll 64
        for (int layer = 0; layer < LAYERS; ++layer) {
          const size_t one = (size_t)layer * n1 + row, two = (size_t)layer * n2 + col0 + j;
          weigh(layer, &k, &theta);
          activate(layer, &k, &theta, root1[one], inverse1[one], root2[two], inverse2[two]);
        }
        weigh(LAYERS, &k, &theta);
        ks[j] = k;
        thetas[j] = theta;
      }
      if (self >= 0) {
        ks[self] = self_k;
        thetas[self] = self_theta;
      }
      const size_t at = (size_t)row * n2 + col0 + from, bytes = sizeof(T) * (size_t)(cols - from);
      if (NNGP) memcpy(nngp + at, ks + from, bytes);
      if (NTK) memcpy(ntk + at, thetas + from, bytes);
    }
    if (!symmetric) continue;
    for (int j = 0; j < cols; ++j) {
      const int column = col0 + j;
      for (int b = 0; b < band; ++b) {
        const int row = row0 + top + b;
        if (column <= row) continue;
        if (NNGP) nngp[(size_t)column * n2 + row] = products[(size_t)(top + b) * cols + j];
        if (NTK) ntk[(size_t)column * n2 + row] = tangent[(size_t)b * cols + j];
      }
    }
  }
  free(tangent);
}
