// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Model problems, made on the execution space. A matrix depends only on its generator, size and options:
/// every machine, backend and number of threads makes the same bits. Rows are sorted and unique; values are
/// computed in double. Compiled for double, float and their complex numbers on the default and the host
/// execution space.
#include <prekond/core/options.hpp>
#include <prekond/matrix/csr_matrix.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace prekond {

template <class Scalar, class Space>
using GeneratedMatrix = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;

/// The matrix that `spec` names: `NAME:SIZE[,key=value...]`, as in `elasticity3d:30,contrast=100`.
/// A real matrix may be made in complex scalars.
/// \throws OptionError for an unknown name (naming the nearest), a bad size, an unknown key, a bad value, or
/// a complex matrix that is wanted in real scalars
template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> generate(const Space& space, const std::string& spec);

/// Does `spec` name a generator of complex matrices? False where it names none.
bool generates_complex(const std::string& spec);

/// The consecutive rows begin, ..., end - 1 of a matrix.
struct RowRange {
  std::int64_t begin = 0, end = 0;
};
/// Chooses rows of a matrix that has `num_rows`; empty: all of them.
using ChooseRows = std::function<RowRange(std::int64_t num_rows)>;

/// Does `spec` name a generator of real matrices that makes some rows without the others? False where it
/// names none.
bool generates_rows(const std::string& spec);

/// Some rows of the matrix that `spec` names, with the bits that they have in generate(), in the columns of
/// the whole: `num_cols` is the number of its rows. For double and float.
///
/// Memory: these rows, and of elasticity3d a double for each cell of their layers.
/// \throws OptionError as generate(), and where not generates_rows(spec) \throws std::logic_error for rows
/// that there are not
template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> generate_rows(const Space& space, const std::string& spec,
                                             const ChooseRows& choose);

/// The facts about a generator that its help needs. `options.list()` has the fields, `options.values()` the
/// defaults.
struct GeneratorInfo {
  std::string name;
  std::string summary;
  OptionFields options;
  std::shared_ptr<void> defaults;  ///< the option struct that `options` refers to
};

/// All generators, in the order of the documentation.
std::vector<GeneratorInfo> generator_list();

namespace generators {

struct NoOptions {
  template <class V>
  void describe(V&) {}
};

struct Anisotropic2dOptions {
  double epsilon = 1e-3;

  template <class V>
  void describe(V& visit) {
    visit("epsilon", epsilon, 1e-12, 1e12, "diffusion along y; along x it is 1");
  }
};

struct ConvectionDiffusion3dOptions {
  double peclet = 100;

  template <class V>
  void describe(V& visit) {
    visit("peclet", peclet, 0, 1e12, "speed times the cube's edge over diffusion");
  }
};

struct Elasticity3dOptions {
  double contrast = 1e3;
  std::int64_t seed = 1;

  template <class V>
  void describe(V& visit) {
    visit("contrast", contrast, 1, 1e12, "Young's modulus of a cell is log-uniform in [1, contrast]");
    visit("seed", seed, 0, std::numeric_limits<std::int64_t>::max(), "of the random numbers");
  }
};

struct CircuitOptions {
  int hubs = 4;
  double exponent = 2.5;
  double contrast = 1e4;
  double ground = 1e-3;
  std::int64_t seed = 1;

  template <class V>
  void describe(V& visit) {
    visit("hubs", hubs, 0, 1000, "rows of about min(10^4, n/4) entries");
    visit("exponent", exponent, 1.5, 10, "of the power law of a node's number of extra edges");
    visit("contrast", contrast, 1, 1e12, "an edge's conductance is log-uniform in [1, contrast]");
    visit("ground", ground, 1e-12, 1e12, "conductance from each node to the ground");
    visit("seed", seed, 0, std::numeric_limits<std::int64_t>::max(), "of the random numbers");
  }
};

struct Magnetic3dOptions {
  double phase = 1;
  std::int64_t seed = 1;

  template <class V>
  void describe(V& visit) {
    visit("phase", phase, 0, 1e12,
          "a link's angle theta is random, |tan(theta / 2)| at most this; 0: poisson3d");
    visit("seed", seed, 0, std::numeric_limits<std::int64_t>::max(), "of the random numbers");
  }
};

struct Irregular3dOptions {
  double mean = 16;
  int longest = 0;
  double hubs = 1e-3;
  double lonely = 0;
  int unknowns = 1;
  double skew = 0;
  double shift = 1e-2;
  std::int64_t seed = 1;

  template <class V>
  void describe(V& visit) {
    visit("mean", mean, 1, 10000,
          "entries that a row has on the average, about; at most 27 unknowns where there are no hubs");
    visit("longest", longest, 0, 1000000, "entries that the hubs' rows have, about; 0: there are no hubs");
    visit("hubs", hubs, 0.0, 1.0, "share of the nodes that are hubs");
    visit("lonely", lonely, 0.0, 1.0, "share of the nodes that have no neighbours");
    visit("unknowns", unknowns, 1, 100, "of a node: its rows have the same columns");
    visit("skew", skew, 0.0, 1.0, "s: a_ij and a_ji are 1 + s and 1 - s times the same number; 0: symmetric");
    visit("shift", shift, 1e-12, 1e12,
          "by which the diagonal exceeds the sum of the others, relative to 1 + that sum");
    visit("seed", seed, 0, std::numeric_limits<std::int64_t>::max(), "of the random numbers");
  }
};

struct Stretched3dOptions {
  double ratio = 1.1;

  template <class V>
  void describe(V& visit) {
    visit("ratio", ratio, 1, 10, "of the width of a cell to that of the one before it, along each axis");
  }
};

/// -u_xx on the unit interval, scaled by h^2: 2 on the diagonal, -1 next to it; `size` rows.
template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> tridiagonal(const Space& space, std::int64_t size, const NoOptions& = {},
                                           const ChooseRows& choose = {});

/// -u_xx - u_yy on the unit square by 5-point differences, u = 0 on the boundary (eliminated), scaled by h^2:
/// 4 on the diagonal, -1 to each neighbour; size^2 rows, x fastest.
template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> poisson2d(const Space& space, std::int64_t size, const NoOptions& = {},
                                         const ChooseRows& choose = {});

/// -u_xx - u_yy - u_zz on the unit cube by 7-point differences, u = 0 on the boundary (eliminated), scaled by
/// h^2: 6 on the diagonal, -1 to each neighbour; size^3 rows, x fastest.
template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> poisson3d(const Space& space, std::int64_t size, const NoOptions& = {},
                                         const ChooseRows& choose = {});

/// The Laplacian of a charge in a random magnetic field (Peierls phases), complex, Hermitian to the last bit
/// and positive definite: poisson3d with -exp(i theta) instead of -1 from a node to the next one along an
/// axis, and the conjugate back. theta = 2 atan t, t = phase U, U uniform in (-1, 1] by the seed and the
/// link. size^3 rows. Compiled for complex<double> and complex<float>.
template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> magnetic3d(const Space& space, std::int64_t size,
                                          const Magnetic3dOptions& options = {});

/// -u_xx - epsilon u_yy, otherwise as poisson2d: 2 + 2 epsilon on the diagonal, -1 along x, -epsilon along y.
template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> anisotropic2d(const Space& space, std::int64_t size,
                                             const Anisotropic2dOptions& options = {},
                                             const ChooseRows& choose = {});

/// -Laplace u + peclet v . grad u on the unit cube, v = (1, 1, 1) / sqrt(3), u = 0 on the boundary
/// (eliminated), upwind differences, scaled by h^2, h = 1 / (size + 1). With c = peclet h / sqrt(3): 6 + 3 c
/// on the diagonal, -1 - c to the neighbours x - h, y - h, z - h, and -1 to x + h, y + h, z + h. size^3 rows;
/// an M-matrix, nonsymmetric for peclet > 0.
template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> convection_diffusion3d(const Space& space, std::int64_t size,
                                                      const ConvectionDiffusion3dOptions& options = {},
                                                      const ChooseRows& choose = {});

/// Linear elasticity on the unit cube: a(u, v) = sum over cells of E_c int lambda div u div v + 2 mu eps(u) :
/// eps(v), lambda = nu / ((1 + nu)(1 - 2 nu)), mu = 1 / (2 (1 + nu)), nu = 0.3; symmetric positive definite.
///
/// size^3 nodes, x fastest, (size - 1)^3 cells; each cell is cut into the six Kuhn tetrahedra around its
/// diagonal (0,0,0)-(1,1,1), P1 elements, three unknowns a node, consecutive. E_c = contrast^U(seed, c), U
/// uniform in (0, 1]. The face z = 0 is clamped and its unknowns eliminated: 3 size^2 (size - 1) rows. A node
/// couples with itself and the nodes at offsets in {0,1}^3 and {0,-1}^3; all of these 3 x 3 blocks are
/// stored, zeros included: nnz = 9 sum over the 15 offsets d of (size - |d_x|) (size - |d_y|) (size - 1 -
/// |d_z|). Bitwise symmetric. Memory besides the result: one double a cell. `size` is at least 2.
template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> elasticity3d(const Space& space, std::int64_t size,
                                            const Elasticity3dOptions& options = {},
                                            const ChooseRows& choose = {});

/// A resistor network: A = sum over edges {i, j} of g_ij (e_i - e_j)(e_i - e_j)^T + ground I; symmetric
/// positive definite, n = size^2 rows.
///
/// Edges: the 2-D grid of size x size nodes; from each node K extra edges to random nodes, P(K >= k) = (k +
/// 1)^(1 - exponent), K <= min(1000, n/4); and from each of `hubs` nodes min(10^4, n/4) edges to nodes spread
/// over the whole network. Edges from a node to itself and repeated edges are dropped. g_ij =
/// contrast^U(seed, min(i, j), max(i, j)). Memory besides the result: the column indices once more.
template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> circuit(const Space& space, std::int64_t size,
                                       const CircuitOptions& options = {});

/// A random matrix with the row statistics of a mesh or a circuit: size^3 nodes on a lattice, x fastest, each
/// with `unknowns` consecutive rows of equal columns.
///
/// Two nodes within one step of the lattice along each axis are neighbours with the probability p that makes
/// `mean`; a hub also neighbours nodes within R steps, (2 R + 1)^3 being the smallest such number of unknowns
/// that reaches `longest`, with the probability that makes that length; lonely nodes have no neighbours. All
/// columns of a node and its neighbours are stored: a symmetric pattern. Off the diagonal a_ij = -(1 + skew)
/// u, for i < j, and a_ji =
/// -(1 - skew) u, u uniform in (0, 1] by the seed and the pair; a_ii = s + shift (1 + s), s the sum of the
/// others' magnitudes: strictly diagonally dominant, an M-matrix, and positive definite for skew = 0.
template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> irregular3d(const Space& space, std::int64_t size,
                                           const Irregular3dOptions& options = {},
                                           const ChooseRows& choose = {});

/// -Laplace u by finite volumes on a stretched grid, as a boundary layer has it, u = 0 on the boundary:
/// size^3 cells, x fastest; along each axis cell k has the width h_k = ratio^k. Cells i and j that share a
/// face are coupled by its area over the distance of their centres,
///
///     a_ij = -h'_i h''_i / ((h_i + h_j) / 2),    h along the axis between them, h' and h'' along the others;
///
/// a face on the boundary adds h' h'' / (h / 2) to the diagonal, which is the sum over the six faces. A
/// symmetric M-matrix, positive definite; couplings of one row differ by up to ratio^(2 size - 2), and the
/// strong ones have another direction in another place. ratio = 1: poisson3d but for the boundary.
///
/// \throws OptionError where ratio^(size - 1) exceeds 1e100
template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> stretched3d(const Space& space, std::int64_t size,
                                           const Stretched3dOptions& options = {},
                                           const ChooseRows& choose = {});

}  // namespace generators
}  // namespace prekond
