// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/validate.hpp>
#include "matrix/counter_hash.hpp"

#include "testing/host_matrix.hpp"
#include "testing/spaces.hpp"

#include <array>
#include <cmath>
#include <complex>
#include <map>
#include <set>
#include <string>
#include <tuple>

#ifdef KOKKOS_ENABLE_OPENMP
#include <omp.h>
#endif

namespace prekond::testing {
namespace {

using Dense = std::vector<std::vector<double>>;

template <class Space, class Scalar = double>
HostMatrix<Scalar> make(const std::string& spec) {
  const auto a = generate<Scalar>(Space(), spec);
  validate<Scalar, Space>(Space(), a);
  return to_host(a);
}

Dense to_dense(const HostMatrix<double>& a) {
  Dense dense(a.num_rows, std::vector<double>(a.num_cols, 0.0));
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) dense[i][a.col_idxs[k]] = a.values[k];
  return dense;
}

/// Does Cholesky's factorisation exist?
bool is_positive_definite(Dense a) {
  const std::size_t n = a.size();
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < j; ++k) a[j][j] -= a[j][k] * a[j][k];
    if (!(a[j][j] > 0)) return false;
    a[j][j] = std::sqrt(a[j][j]);
    for (std::size_t i = j + 1; i < n; ++i) {
      for (std::size_t k = 0; k < j; ++k) a[i][j] -= a[i][k] * a[j][k];
      a[i][j] /= a[j][j];
    }
  }
  return true;
}

void expect_bitwise_symmetric(const HostMatrix<double>& a) {
  std::map<std::pair<std::int64_t, std::int64_t>, double> entries;
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) entries[{i, a.col_idxs[k]}] = a.values[k];
  for (const auto& [place, value] : entries) {
    const auto mirror = entries.find({place.second, place.first});
    ASSERT_TRUE(mirror != entries.end());
    ASSERT_EQ(mirror->second, value);
  }
}

template <class Space>
class Generate : public ::testing::Test {};
TYPED_TEST_SUITE(Generate, TestSpaces, SpaceNames);

TYPED_TEST(Generate, Tridiagonal) {
  EXPECT_TRUE(make<TypeParam>("tridiagonal:4") ==
              sparse<double>({{2, -1, 0, 0}, {-1, 2, -1, 0}, {0, -1, 2, -1}, {0, 0, -1, 2}}));
  EXPECT_TRUE(make<TypeParam>("tridiagonal:1") == sparse<double>({{2}}));
}

/// The stencil as a dense matrix, by the neighbours' coordinates.
template <class Coefficient>
Dense stencil_reference(int nx, int ny, int nz, double diagonal, const Coefficient& coefficient) {
  const int n = nx * ny * nz;
  Dense a(n, std::vector<double>(n, 0.0));
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      const int dx = j % nx - i % nx;
      const int dy = j / nx % ny - i / nx % ny;
      const int dz = j / (nx * ny) - i / (nx * ny);
      if (i == j) a[i][j] = diagonal;
      if (std::abs(dx) + std::abs(dy) + std::abs(dz) == 1) a[i][j] = coefficient(dx, dy, dz);
    }
  return a;
}

TYPED_TEST(Generate, Stencils) {
  const auto minus_one = [](int, int, int) { return -1.0; };
  EXPECT_TRUE(make<TypeParam>("poisson2d:5") == sparse(stencil_reference(5, 5, 1, 4, minus_one)));
  EXPECT_TRUE(make<TypeParam>("poisson3d:4") == sparse(stencil_reference(4, 4, 4, 6, minus_one)));
  EXPECT_TRUE(make<TypeParam>("poisson3d:1") == sparse<double>({{6}}));
  EXPECT_TRUE(
      make<TypeParam>("anisotropic2d:4,epsilon=0.25") ==
      sparse(stencil_reference(4, 4, 1, 2.5, [](int dx, int, int) { return dx != 0 ? -1.0 : -0.25; })));
  EXPECT_EQ(make<TypeParam>("anisotropic2d:4")(5, 9), -1e-3);
}

/// By the faces: each adds its coupling to both of its cells, or to the one inside.
std::vector<std::vector<double>> stretched_reference(int n, double ratio) {
  const auto width = [&](int k) { return std::pow(ratio, k); };
  std::vector<std::vector<double>> a(n * n * n, std::vector<double>(n * n * n, 0.0));
  for (int v = 0; v < n; ++v)
    for (int u = 0; u < n; ++u)
      for (int face = 0; face <= n; ++face)
        for (int d = 0; d < 3; ++d) {
          const auto row = [&](int along) {
            const int x[3] = {d == 0 ? along : u, d == 1 ? along : (d == 0 ? u : v), d == 2 ? along : v};
            return x[0] + n * (x[1] + n * x[2]);
          };
          const double before = face > 0 ? width(face - 1) / 2 : 0, after = face < n ? width(face) / 2 : 0;
          const double coupling = width(u) * width(v) / (before + after);
          if (face > 0) a[row(face - 1)][row(face - 1)] += coupling;
          if (face < n) a[row(face)][row(face)] += coupling;
          if (face > 0 && face < n) a[row(face - 1)][row(face)] = a[row(face)][row(face - 1)] = -coupling;
        }
  return a;
}

TYPED_TEST(Generate, StretchedGridByItsFaces) {
  for (const auto& [spec, n, ratio] :
       {std::tuple("stretched3d:4,ratio=1.5", 4, 1.5), std::tuple("stretched3d:5", 5, 1.1),
        std::tuple("stretched3d:1", 1, 1.1), std::tuple("stretched3d:3,ratio=1", 3, 1.0)}) {
    const auto a = make<TypeParam>(spec);
    const auto reference = sparse(stretched_reference(n, ratio));
    ASSERT_EQ(a.row_ptrs, reference.row_ptrs) << spec;
    ASSERT_EQ(a.col_idxs, reference.col_idxs) << spec;
    for (std::size_t k = 0; k < a.nnz(); ++k)
      EXPECT_NEAR(a.values[k], reference.values[k], 1e-14 * std::abs(reference.values[k])) << spec;
    for (std::int64_t i = 0; i < a.num_rows; ++i)
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
        EXPECT_EQ(a.values[k], a(a.col_idxs[k], i)) << spec << " is symmetric to the last bit";
  }
}

TYPED_TEST(Generate, ConvectionDiffusionIsUpwind) {
  const double c = 100 / (4 * std::sqrt(3.0));
  const auto upwind = [&](int dx, int dy, int dz) { return dx + dy + dz < 0 ? -1 - c : -1.0; };
  const auto a = make<TypeParam>("convection_diffusion3d:3");
  const auto reference = sparse(stencil_reference(3, 3, 3, 6 + 3 * c, upwind));
  ASSERT_EQ(a.col_idxs, reference.col_idxs);
  for (std::size_t k = 0; k < a.nnz(); ++k) EXPECT_NEAR(a.values[k], reference.values[k], 1e-13);
  EXPECT_TRUE(make<TypeParam>("convection_diffusion3d:3,peclet=0") == make<TypeParam>("poisson3d:3"));
}

// ------------------------------------------------------------------------------------------------ elasticity

/// 6 x the volume of a tetrahedron and the gradients of its four barycentric coordinates, by Cramer's rule.
struct Tetrahedron {
  double volume;
  double gradient[4][3];

  explicit Tetrahedron(const std::array<std::array<double, 3>, 4>& x) {
    double e[3][3];
    for (int v = 0; v < 3; ++v)
      for (int d = 0; d < 3; ++d) e[v][d] = x[v + 1][d] - x[0][d];
    double cross[3][3];
    for (int v = 0; v < 3; ++v)
      for (int d = 0; d < 3; ++d) {
        const auto* p = e[(v + 1) % 3];
        const auto* q = e[(v + 2) % 3];
        cross[v][d] = p[(d + 1) % 3] * q[(d + 2) % 3] - p[(d + 2) % 3] * q[(d + 1) % 3];
      }
    const double det = e[0][0] * cross[0][0] + e[0][1] * cross[0][1] + e[0][2] * cross[0][2];
    volume = std::abs(det) / 6;
    for (int d = 0; d < 3; ++d) {
      gradient[0][d] = 0;
      for (int v = 0; v < 3; ++v) {
        gradient[v + 1][d] = cross[v][d] / det;
        gradient[0][d] -= gradient[v + 1][d];
      }
    }
  }
};

/// Element by element, with strains in Voigt's notation: K = V B^T D B.
void add_element(const Tetrahedron& t, const std::array<int, 4>& nodes, double youngs_modulus, Dense& a) {
  const double nu = 0.3;
  const double lambda = youngs_modulus * nu / ((1 + nu) * (1 - 2 * nu));
  const double mu = youngs_modulus / (2 * (1 + nu));
  double strain[6][12] = {};
  for (int v = 0; v < 4; ++v) {
    const double* g = t.gradient[v];
    for (int d = 0; d < 3; ++d) strain[d][3 * v + d] = g[d];
    strain[3][3 * v] = g[1], strain[3][3 * v + 1] = g[0];
    strain[4][3 * v + 1] = g[2], strain[4][3 * v + 2] = g[1];
    strain[5][3 * v] = g[2], strain[5][3 * v + 2] = g[0];
  }
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j < 12; ++j) {
      double sum = 0;
      for (int d = 0; d < 3; ++d) {
        sum += 2 * mu * strain[d][i] * strain[d][j] + mu * strain[3 + d][i] * strain[3 + d][j];
        for (int e = 0; e < 3; ++e) sum += lambda * strain[d][i] * strain[e][j];
      }
      a[3 * nodes[i / 3] + i % 3][3 * nodes[j / 3] + j % 3] += t.volume * sum;
    }
}

/// All size^3 nodes, nothing clamped; Young's moduli by libm's pow.
Dense elasticity_reference(int size, double contrast, std::uint64_t seed) {
  const int n = size * size * size;
  Dense a(3 * n, std::vector<double>(3 * n, 0.0));
  const int cells = size - 1;
  for (int cell = 0; cell < cells * cells * cells; ++cell) {
    const int origin[3] = {cell % cells, cell / cells % cells, cell / (cells * cells)};
    const double u = impl::unit_interval(impl::counter_hash(seed, cell));
    std::array<int, 3> axes = {0, 1, 2};
    do {
      std::array<std::array<double, 3>, 4> x;
      std::array<int, 4> nodes;
      int at[3] = {origin[0], origin[1], origin[2]};
      for (int v = 0; v < 4; ++v) {
        for (int d = 0; d < 3; ++d) x[v][d] = static_cast<double>(at[d]) / cells;
        nodes[v] = at[0] + size * (at[1] + size * at[2]);
        if (v < 3) ++at[axes[v]];
      }
      add_element(Tetrahedron(x), nodes, std::pow(contrast, u), a);
    } while (std::next_permutation(axes.begin(), axes.end()));
  }
  return a;
}

std::size_t elasticity_nnz(std::int64_t n) {
  std::int64_t pairs = 0;
  for (int dz = -1; dz <= 1; ++dz)
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx)
        if ((dx >= 0 && dy >= 0 && dz >= 0) || (dx <= 0 && dy <= 0 && dz <= 0))
          pairs += (n - std::abs(dx)) * (n - std::abs(dy)) * (n - 1 - std::abs(dz));
  return 9 * pairs;
}

TYPED_TEST(Generate, ElasticitySizes) {
  EXPECT_EQ(elasticity_nnz(100), 131515146u);
  const auto a = generate<double>(TypeParam(), "elasticity3d:30");
  EXPECT_EQ(a.num_rows, 78300);
  EXPECT_EQ(a.num_cols, 78300);
  EXPECT_EQ(a.nnz(), 3336606);
  for (const int n : {2, 3, 7, 12}) {
    const auto small = make<TypeParam>("elasticity3d:" + std::to_string(n));
    EXPECT_EQ(small.num_rows, 3 * n * n * (n - 1));
    EXPECT_EQ(small.nnz(), elasticity_nnz(n));
    expect_bitwise_symmetric(small);
  }
}

TYPED_TEST(Generate, ElasticityAgreesWithElementwiseAssembly) {
  for (const int n : {2, 3, 4}) {
    const auto a = make<TypeParam>("elasticity3d:" + std::to_string(n) + ",contrast=50,seed=3");
    const auto reference = elasticity_reference(n, 50, 3);
    const int clamped = 3 * n * n;
    std::set<std::pair<int, int>> stored;
    for (int i = 0; i < a.num_rows; ++i)
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
        const int j = a.col_idxs[k];
        stored.insert({i, j});
        const double scale =
            std::sqrt(reference[clamped + i][clamped + i] * reference[clamped + j][clamped + j]);
        EXPECT_NEAR(a.values[k], reference[clamped + i][clamped + j], 1e-13 * scale) << i << " " << j;
      }
    for (int i = 0; i < a.num_rows; ++i)
      for (int j = 0; j < a.num_cols; ++j)
        EXPECT_TRUE(stored.count({i, j}) > 0 || std::abs(reference[clamped + i][clamped + j]) <= 1e-13)
            << i << " " << j;
    EXPECT_TRUE(is_positive_definite(to_dense(a)));
  }
}

TYPED_TEST(Generate, ElasticityHasRigidMotions) {
  const int n = 6;
  const auto a = make<TypeParam>("elasticity3d:6");
  for (int motion = 0; motion < 6; ++motion) {
    const auto displacement = [&](int unknown) {
      const int node = unknown / 3;
      const double x[3] = {double(node % n), double(node / n % n), double(node / (n * n))};
      const int d = unknown % 3;
      if (motion < 3) return d == motion ? 1.0 : 0.0;
      const int axis = motion - 3;
      if (d == (axis + 1) % 3) return -x[(axis + 2) % 3];
      return d == (axis + 2) % 3 ? x[(axis + 1) % 3] : 0.0;
    };
    // The lowest free layer is z = 1; from the second one on no coupling touches the clamped face.
    for (std::int64_t i = 3 * n * n; i < a.num_rows; ++i) {
      double sum = 0;
      double magnitude = 0;
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
        sum += a.values[k] * displacement(a.col_idxs[k]);
        magnitude += std::abs(a.values[k] * displacement(a.col_idxs[k]));
      }
      EXPECT_LE(std::abs(sum), 1e-12 * magnitude) << motion << " " << i;
    }
  }
}

TYPED_TEST(Generate, ElasticityContrastAndSeed) {
  const auto uniform = make<TypeParam>("elasticity3d:4,contrast=1");
  EXPECT_TRUE(uniform == make<TypeParam>("elasticity3d:4,contrast=1,seed=99"));
  EXPECT_FALSE(make<TypeParam>("elasticity3d:4") == make<TypeParam>("elasticity3d:4,seed=2"));
  EXPECT_TRUE(make<TypeParam>("elasticity3d:4") == make<TypeParam>("elasticity3d:4,contrast=1000,seed=1"));
}

// -------------------------------------------------------------------------------------------- irregular3d

/// Lengths of a pattern's rows: their mean, the longest and the shortest.
struct RowStatistics {
  double mean, longest, shortest;
  explicit RowStatistics(const HostMatrix<double>& a)
      : mean(double(a.nnz()) / double(a.num_rows)), longest(0), shortest(double(a.num_cols)) {
    for (std::int64_t i = 0; i < a.num_rows; ++i) {
      longest = std::max(longest, double(a.row_ptrs[i + 1] - a.row_ptrs[i]));
      shortest = std::min(shortest, double(a.row_ptrs[i + 1] - a.row_ptrs[i]));
    }
  }
};

TYPED_TEST(Generate, IrregularMatricesHaveTheStatisticsAskedFor) {
  const RowStatistics mesh(make<TypeParam>("irregular3d:17,mean=16"));
  EXPECT_NEAR(mesh.mean, 16, 0.5);
  EXPECT_LE(mesh.longest, 27);
  EXPECT_GE(mesh.shortest, 2);
  const RowStatistics hubs(make<TypeParam>("irregular3d:25,mean=12,longest=300,hubs=1e-3,lonely=0.01"));
  EXPECT_NEAR(hubs.mean, 12, 1);
  EXPECT_NEAR(hubs.longest, 300, 60);
  EXPECT_EQ(hubs.shortest, 1);
  const RowStatistics blocks(make<TypeParam>("irregular3d:12,mean=45,unknowns=3"));
  EXPECT_NEAR(blocks.mean, 45, 2);
  EXPECT_LE(blocks.longest, 81);
  EXPECT_EQ(RowStatistics(make<TypeParam>("irregular3d:5,mean=10000")).longest, 27);
}

TYPED_TEST(Generate, IrregularMatricesAreDominantAndSymmetricWithoutSkew) {
  expect_bitwise_symmetric(make<TypeParam>("irregular3d:6,longest=90,hubs=0.02,unknowns=2"));
  for (const char* spec : {"irregular3d:6,mean=9,shift=0.5,skew=0.25", "irregular3d:1,shift=2",
                           "irregular3d:4,lonely=1,unknowns=3"}) {
    const Dense a = to_dense(make<TypeParam>(spec));
    for (std::size_t i = 0; i < a.size(); ++i) {
      double others = 0;
      for (std::size_t j = 0; j < a.size(); ++j) {
        if (i == j) continue;
        others += std::abs(a[i][j]);
        EXPECT_LE(a[i][j], 0);
        EXPECT_EQ(a[i][j] == 0, a[j][i] == 0);
      }
      const double shift = std::string(spec).find("shift=2") != std::string::npos
                               ? 2
                               : (std::string(spec).find("shift=0.5") != std::string::npos ? 0.5 : 0.01);
      EXPECT_NEAR(a[i][i], others + shift * (1 + others), 1e-12 * a[i][i]) << spec << " row " << i;
    }
  }
}

// ------------------------------------------------------------------------------------------------ circuit

TYPED_TEST(Generate, CircuitIsAGroundedLaplacian) {
  const int n = 41 * 41;
  const auto a = make<TypeParam>("circuit:41,ground=0.5,contrast=100");
  ASSERT_EQ(a.num_rows, n);
  expect_bitwise_symmetric(a);
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      sum += a.values[k];
      EXPECT_TRUE(a.col_idxs[k] == i || (a.values[k] <= -1 && a.values[k] >= -100));
    }
    EXPECT_NEAR(sum, 0.5, 1e-12 * a(i, i));
    EXPECT_TRUE(i % 41 == 40 || a(i, i + 1) != 0);
    EXPECT_TRUE(i + 41 >= n || a(i, i + 41) != 0);
  }
}

TYPED_TEST(Generate, CircuitHasHubsAndAPowerLaw) {
  const auto lengths_of = [](const HostMatrix<double>& a) {
    std::vector<std::size_t> lengths;
    for (std::int64_t i = 0; i < a.num_rows; ++i) lengths.push_back(a.row_ptrs[i + 1] - a.row_ptrs[i]);
    std::sort(lengths.rbegin(), lengths.rend());
    return lengths;
  };
  const std::size_t n = 60 * 60;
  const auto lengths = lengths_of(make<TypeParam>("circuit:60"));
  for (int h = 0; h < 4; ++h) EXPECT_GE(lengths[h], n / 4);
  EXPECT_LT(lengths[4], n / 4);
  EXPECT_LE(lengths_of(make<TypeParam>("circuit:60,hubs=0"))[0], n / 4 + 100);
  // A grid of 60 x 60 nodes without extra edges has 5 n - 240 entries; steeper laws have fewer extra edges.
  const auto flat = make<TypeParam>("circuit:60,hubs=0,exponent=2");
  const auto steep = make<TypeParam>("circuit:60,hubs=0,exponent=10");
  EXPECT_GT(flat.nnz(), steep.nnz() + n);
  EXPECT_GE(steep.nnz(), 5 * n - 240);
  EXPECT_LE(steep.nnz(), 5 * n + 100);
}

TYPED_TEST(Generate, CircuitOfFewNodes) {
  EXPECT_TRUE(make<TypeParam>("circuit:1,ground=2") == sparse<double>({{2}}));
  for (const char* spec : {"circuit:2", "circuit:3,hubs=20", "circuit:5,exponent=1.5"}) {
    const auto a = make<TypeParam>(spec);
    expect_bitwise_symmetric(a);
    EXPECT_TRUE(is_positive_definite(to_dense(a))) << spec;
  }
}

// ------------------------------------------------------------------------------------------------ all of
// them

TYPED_TEST(Generate, MagneticIsTheLaplacianWithAPhaseALink) {
  using Complex = Kokkos::complex<double>;
  const auto complex_of = [](const HostMatrix<double>& a) {
    return HostMatrix<Complex>{
        a.num_rows, a.num_cols, a.row_ptrs, a.col_idxs, {a.values.begin(), a.values.end()}};
  };
  const HostMatrix<double> poisson = make<TypeParam>("poisson3d:5");
  for (const char* spec : {"magnetic3d:5", "magnetic3d:5,phase=0.2", "magnetic3d:5,phase=1e6,seed=7"}) {
    const auto a = make<TypeParam, Complex>(spec);
    ASSERT_EQ(a.row_ptrs, poisson.row_ptrs);
    ASSERT_EQ(a.col_idxs, poisson.col_idxs);
    bool imaginary = false;
    for (std::int64_t i = 0; i < a.num_rows; ++i) {
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
        EXPECT_NEAR(Kokkos::abs(a.values[k]), std::abs(poisson.values[k]), 1e-15);
        EXPECT_EQ(a.values[k], Kokkos::conj(a(a.col_idxs[k], i)));
        if (std::string(spec).find("0.2") != std::string::npos && a.col_idxs[k] != i) {
          EXPECT_LE(std::abs(std::arg(std::complex<double>(-a.values[k]))), 2 * std::atan(0.2) + 1e-15);
        }
        imaginary = imaginary || a.values[k].imag() != 0;
      }
    }
    EXPECT_TRUE(imaginary);
    EXPECT_TRUE(a == (make<TypeParam, Complex>(spec)));
    EXPECT_TRUE(a == (make<Kokkos::DefaultHostExecutionSpace, Complex>(spec)));
    const auto rounded = make<TypeParam, Kokkos::complex<float>>(spec);
    for (std::size_t k = 0; k < a.nnz(); ++k)
      ASSERT_EQ(rounded.values[k], Kokkos::complex<float>(a.values[k]));
  }
  EXPECT_FALSE((make<TypeParam, Complex>("magnetic3d:5") == make<TypeParam, Complex>("magnetic3d:5,seed=2")));
  const auto without = make<TypeParam, Complex>("magnetic3d:5,phase=0");
  for (std::size_t k = 0; k < without.nnz(); ++k) EXPECT_EQ(without.values[k], Complex(poisson.values[k]));
  EXPECT_TRUE((make<TypeParam, Complex>("magnetic3d:1") == complex_of(sparse<double>({{6}}))));
  // A real matrix in complex scalars.
  EXPECT_TRUE((make<TypeParam, Complex>("elasticity3d:4") == complex_of(make<TypeParam>("elasticity3d:4"))));
}

const char* const all_specs[] = {"poisson2d:19",
                                 "poisson3d:9",
                                 "anisotropic2d:19",
                                 "tridiagonal:301",
                                 "irregular3d:9,longest=60,lonely=0.1,unknowns=2,skew=0.5",
                                 "elasticity3d:8",
                                 "circuit:50",
                                 "stretched3d:9,ratio=1.37",
                                 "convection_diffusion3d:9"};

TYPED_TEST(Generate, SameBitsAgainAndOnEverySpace) {
  for (const char* spec : all_specs) {
    const auto a = make<TypeParam>(spec);
    EXPECT_TRUE(a == make<TypeParam>(spec)) << spec;
    EXPECT_TRUE(a == make<Kokkos::DefaultHostExecutionSpace>(spec)) << spec;
  }
}

#ifdef KOKKOS_ENABLE_OPENMP
TEST(GenerateThreads, SameBitsWithOneThreadAndWithSeveral) {
  const Kokkos::OpenMP all_threads;
  if (all_threads.concurrency() < 2) GTEST_SKIP() << "needs two threads";
  const Kokkos::OpenMP one_thread(1);
  // Kokkos 4 answers concurrency() for the default instance: the threads are counted where they run.
  int threads = 0;
  Kokkos::parallel_for(Kokkos::RangePolicy<Kokkos::OpenMP>(one_thread, 0, 1),
                       [&](int) { threads = omp_get_num_threads(); });
  ASSERT_EQ(threads, 1);
  for (const char* spec : all_specs) {
    EXPECT_TRUE(to_host(generate<double>(all_threads, spec)) == to_host(generate<double>(one_thread, spec)))
        << spec;
  }
}
#endif

TYPED_TEST(Generate, FloatIsTheRoundedDouble) {
  for (const char* spec : all_specs) {
    const auto a = make<TypeParam>(spec);
    const auto b = make<TypeParam, float>(spec);
    ASSERT_EQ(a.col_idxs, b.col_idxs) << spec;
    for (std::size_t k = 0; k < a.nnz(); ++k) ASSERT_EQ(static_cast<float>(a.values[k]), b.values[k]) << spec;
  }
}

TEST(GeneratorList, HasNamesAndDefaults) {
  std::set<std::string> names;
  for (const auto& info : generator_list()) {
    names.insert(info.name);
    EXPECT_FALSE(info.summary.empty());
    EXPECT_EQ(info.options.list().size(), info.options.values().size());
    for (const auto& field : info.options.list()) EXPECT_FALSE(field.doc.empty());
    if (info.name == "elasticity3d") {
      EXPECT_EQ(to_string(info.options.values().at("contrast")), "1000");
    }
  }
  EXPECT_EQ(names, (std::set<std::string>{"magnetic3d", "poisson2d", "poisson3d", "anisotropic2d",
                                          "tridiagonal", "convection_diffusion3d", "elasticity3d", "circuit",
                                          "irregular3d", "stretched3d"}));
}

std::string refusal(const std::string& spec) {
  return message_of<OptionError>([&] { generate<double>(Kokkos::DefaultExecutionSpace(), spec); });
}

TEST(GeneratorErrors, ComplexMatrices) {
  EXPECT_EQ(refusal("magnetic3d:4"),
            "generator 'magnetic3d' makes complex matrices; a real one is wanted here");
  const auto of_complex = [](const std::string& spec) {
    return message_of<OptionError>(
        [&] { generate<Kokkos::complex<double>>(Kokkos::DefaultExecutionSpace(), spec); });
  };
  EXPECT_EQ(of_complex("magnetic:4"), "no generator is called 'magnetic'; did you mean 'magnetic3d'?");
  EXPECT_EQ(of_complex("magnetic3d:x"), "generator 'magnetic3d': SIZE is a positive whole number, not 'x'");
  EXPECT_TRUE(generates_complex("magnetic3d:4,phase=2"));
  EXPECT_FALSE(generates_complex("poisson3d:4"));
  EXPECT_FALSE(generates_complex("magnetic"));
}

TEST(GeneratorErrors, Names) {
  EXPECT_EQ(refusal("poison3d:4"), "no generator is called 'poison3d'; did you mean 'poisson3d'?");
  EXPECT_EQ(refusal("elasticity:4"), "no generator is called 'elasticity'; did you mean 'elasticity3d'?");
}

TEST(GeneratorErrors, Sizes) {
  EXPECT_EQ(refusal("poisson2d"), "generator 'poisson2d' needs a size: poisson2d:SIZE");
  EXPECT_EQ(refusal("poisson2d:"), "generator 'poisson2d' needs a size: poisson2d:SIZE");
  for (const char* size : {"0", "-3", "2.5", "12x", " 7", "ten", "-99999999999999999999"})
    EXPECT_EQ(refusal(std::string("poisson2d:") + size),
              std::string("generator 'poisson2d': SIZE is a positive whole number, not '") + size + "'");
  EXPECT_EQ(refusal("elasticity3d:1"), "generator 'elasticity3d': SIZE is at least 2, not 1");
  const auto too_large = [](const std::string& name, const std::string& most, const std::string& size) {
    EXPECT_EQ(refusal(name + ":" + size), "generator '" + name + "': SIZE is at most " + most +
                                              ", because rows are numbered by int; " + size +
                                              " is too large");
  };
  too_large("tridiagonal", "2147483647", "2147483648");
  too_large("poisson2d", "46340", "46341");
  too_large("poisson3d", "1290", "1291");
  too_large("elasticity3d", "894", "895");
  too_large("elasticity3d", "894", "9223372036854775807");
  EXPECT_NE(refusal("circuit:99999999999999999999").find("is at most 46340"), std::string::npos);
}

TEST(GeneratorErrors, Options) {
  EXPECT_EQ(refusal("elasticity3d:4,contrasts=1"),
            "'elasticity3d' has no option 'contrasts'; did you mean 'contrast'?");
  EXPECT_EQ(refusal("poisson2d:4,seed=1"), "'poisson2d' has no option 'seed'; it takes none");
  EXPECT_EQ(refusal("elasticity3d:4,contrast"),
            "generator 'elasticity3d': expected key=value, found 'contrast'");
  EXPECT_EQ(refusal("elasticity3d:4,"), "generator 'elasticity3d': expected key=value, found ''");
  EXPECT_EQ(refusal("elasticity3d:4,=2"), "generator 'elasticity3d': expected key=value, found '=2'");
  EXPECT_EQ(refusal("elasticity3d:4,seed=1,seed=2"),
            "generator 'elasticity3d': option 'seed' is given twice");
  EXPECT_EQ(refusal("elasticity3d:4,seed=x"), "option 'seed' takes a whole number, not 'x'");
  EXPECT_EQ(refusal("anisotropic2d:4,epsilon=-1"),
            "option 'epsilon' = -1 is out of its range 1e-12 .. 1e+12");
  EXPECT_EQ(
      refusal("stretched3d:400,ratio=2"),
      "generator 'stretched3d': ratio^(SIZE - 1) is 2.000000^399, more than 1e100: take a smaller ratio");
  EXPECT_EQ(refusal("circuit:4,hubs=1001"), "option 'hubs' = 1001 is out of its range 0 .. 1000");
}

TEST(CounterHash, ElementaryFunctionsAreAccurate) {
  for (int i = 1; i <= 2000; ++i) {
    const double u = i / 2000.0;
    EXPECT_NEAR(impl::exp2_of_product(u, 39.7) / std::exp2(u * 39.7), 1, 1e-14);
    EXPECT_NEAR(impl::exp2_of_product(-u, 3.3) / std::exp2(-u * 3.3), 1, 1e-15);
    EXPECT_NEAR(impl::log2_of(u), std::log2(u), 1e-15 * (1 + std::abs(std::log2(u))));
    EXPECT_NEAR(impl::log2_of(i * 1e7), std::log2(i * 1e7), 1e-14);
  }
  EXPECT_EQ(impl::log2_of(1), 0);
  EXPECT_EQ(impl::exp2_of_product(1, 0), 1);
  EXPECT_EQ(impl::unit_interval(~0ull), 1);
  EXPECT_GT(impl::unit_interval(0), 0);
}

}  // namespace
}  // namespace prekond::testing
