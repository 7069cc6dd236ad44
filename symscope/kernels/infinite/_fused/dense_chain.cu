// A network of dense layers over a panel of a Gram: every layer in registers, both halves written at once.
//
// A block takes a tile of 32 x 32 mean products of features, and turns its results through shared memory to
// write the mirrored tile of a symmetric Gram as well. The last layer, number LAYERS, has no activation.

template <int l>
__device__ __forceinline__ void layers(
    T& k, T& theta, const Roots* roots1, const Roots* roots2, size_t all1, size_t all2, bool self) {
  weigh<l>(k, theta);
  if constexpr (l < LAYERS) {
    activate<l>(k, theta, roots1[l * all1], roots2[l * all2], self);
    layers<l + 1>(k, theta, roots1, roots2, all1, all2, self);
  }
}

extern "C" __global__ void __launch_bounds__(256) dense_chain(
    const T* __restrict__ products, T* __restrict__ nngp, T* __restrict__ ntk,
    const Roots* __restrict__ roots1, const Roots* __restrict__ roots2,
    int rows, int cols, int row0, int col0, int n1, int n2, int batches, int symmetric) {
  __shared__ T turned[WANTED][32][33];
  const size_t z = blockIdx.z;
  const int tile_col = blockIdx.x * 32, tile_row = blockIdx.y * 32;
  if (symmetric && col0 + tile_col + 31 < row0 + tile_row) return;  // below the diagonal: mirrored
  const int col = tile_col + threadIdx.x;
  for (int line = threadIdx.y; line < 32; line += 8) {
    const int row = tile_row + line, global_row = row0 + row, global_col = col0 + col;
    const bool live = row < rows && col < cols && !(symmetric && global_col < global_row);
    T k = 0, theta = 0;
    if (live) {
      k = products[(z * rows + row) * cols + col];
      layers<0>(k, theta, roots1 + z * n1 + global_row, roots2 + z * n2 + global_col,
                (size_t)batches * n1, (size_t)batches * n2, symmetric && global_row == global_col);
      const size_t at = (z * n1 + global_row) * n2 + global_col;
      if (NNGP) nngp[at] = k;
      if (NTK) ntk[at] = theta;
    }
    if (NNGP) turned[0][line][threadIdx.x] = k;
    if (NTK) turned[WANTED - 1][line][threadIdx.x] = theta;
  }
  if (!symmetric) return;
  __syncthreads();
  for (int line = threadIdx.y; line < 32; line += 8) {  // now a column of the tile, threadIdx.x a row
    const int row = tile_row + threadIdx.x, column = tile_col + line;
    const int global_row = row0 + row, global_col = col0 + column;
    if (row < rows && column < cols && global_col > global_row) {
      const size_t at = (z * n1 + global_col) * n2 + global_row;
      if (NNGP) nngp[at] = turned[0][threadIdx.x][line];
      if (NTK) ntk[at] = turned[WANTED - 1][threadIdx.x][line];
    }
  }
}
