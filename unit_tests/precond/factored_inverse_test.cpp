// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/krylov_problems.hpp"
#include "testing/spaces.hpp"
#include "testing/spd_matrices.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/krylov/cg.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/adaptive_fsai.hpp>
#include <prekond/precond/fsai.hpp>
#include <prekond/precond/impl/explicit_inverse.hpp>
#include <prekond/precond/nonsymmetric_fsai.hpp>
#include "sparse_product/transpose.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

/// Factors stored in a lower precision than the vectors have.
namespace prekond::testing {
namespace {

using Columns = std::vector<std::vector<double>>;

template <class Space>
class StoredFactors : public ::testing::Test {};
TYPED_TEST_SUITE(StoredFactors, TestSpaces, SpaceNames);

struct StorageCase {
  Storage storage;
  double error;  ///< of a rounding, relatively
};
const std::vector<StorageCase> storages = {
    {Storage::single_precision, 0x1p-24}, {Storage::half, 0x1p-11}, {Storage::bfloat16, 0x1p-8}};

template <class Space, class Scalar = double>
std::unique_ptr<Fsai<Scalar, Space>> computed(const HostMatrix<Scalar>& a, Storage storage, int power = 2) {
  FsaiOptions options;
  options.power = power;
  options.storage = storage;
  options.setup_scalar = Precision::double_precision;
  auto m = std::make_unique<Fsai<Scalar, Space>>(options);
  m->symbolic(Space(), to_device<Space>(a));
  m->numeric(Space(), to_device<Space>(a));
  return m;
}

template <class Space>
Columns applied(const Preconditioner<double, Space>& m, const Columns& x) {
  const auto n = static_cast<std::size_t>(m.num_rows());
  const MultiVector<double, Space> from("from", n, x.size()), to("to", n, x.size());
  const auto host = Kokkos::create_mirror_view(from);
  for (std::size_t v = 0; v < x.size(); ++v)
    for (std::size_t i = 0; i < n; ++i) host(i, v) = x[v][i];
  Kokkos::deep_copy(from, host);
  Kokkos::deep_copy(to, std::nan(""));
  const auto workspace = m.make_workspace(Space(), static_cast<int>(x.size()));
  m.apply(Space(), from, to, *workspace);
  Kokkos::fence();
  Columns y;
  for (std::size_t v = 0; v < x.size(); ++v) y.push_back(to_vector(column(to, v)));
  return y;
}

std::vector<double> random_vector(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<double> x(n);
  for (double& value : x) value = double(random()) / 0x1p31 - 1;
  return x;
}

double dot(const std::vector<double>& x, const std::vector<double>& y) {
  long double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += static_cast<long double>(x[i]) * y[i];
  return static_cast<double>(sum);
}

/// |G|^T |G| |x|: what a relative error of each entry is an error of.
std::vector<double> sizes(const HostMatrix<double>& g, const std::vector<double>& x) {
  std::vector<double> z(x.size(), 0), y(x.size(), 0);
  for (std::int64_t i = 0; i < g.num_rows; ++i)
    for (std::size_t k = g.row_ptrs[i]; k < g.row_ptrs[i + 1]; ++k)
      z[i] += std::abs(g.values[k] * x[g.col_idxs[k]]);
  for (std::int64_t i = 0; i < g.num_rows; ++i)
    for (std::size_t k = g.row_ptrs[i]; k < g.row_ptrs[i + 1]; ++k)
      y[g.col_idxs[k]] += std::abs(g.values[k]) * z[i];
  return y;
}

TYPED_TEST(StoredFactors, AreTheFullOnesButForTheRoundingOfEntries) {
  for (const Case& test : small_matrices()) {
    const auto n = static_cast<std::size_t>(test.matrix.num_rows);
    const Columns x = {random_vector(n, 1), random_vector(n, 2), random_vector(n, 3)};
    const auto full = computed<TypeParam>(test.matrix, Storage::full);
    const Columns expected = applied<TypeParam>(*full, x);
    const HostMatrix<double> g = to_host(full->factor());
    for (const auto& [storage, error] : storages) {
      // Entries of a row that differ by more than 2^28 are more than half can tell apart.
      if (storage == Storage::half && test.name == "scaled:65") continue;
      const auto m = computed<TypeParam>(test.matrix, storage);
      const Columns found = applied<TypeParam>(*m, x);
      for (std::size_t v = 0; v < x.size(); ++v) {
        const std::vector<double> size = sizes(g, x[v]);
        for (std::size_t i = 0; i < n; ++i)
          ASSERT_NEAR(found[v][i], expected[v][i], 2.01 * error * size[i]) << test.name << " row " << i;
      }
      EXPECT_EQ(m->report().nnz, full->report().nnz);
    }
  }
}

TYPED_TEST(StoredFactors, AreSymmetricAndPositiveDefinite) {
  const HostMatrix<double> a = random_spd(150, 0.1, 5, 10);
  for (const auto& [storage, error] : storages) {
    const auto m = computed<TypeParam>(a, storage);
    EXPECT_TRUE(m->is_symmetric());
    const Columns x = {random_vector(150, 1), random_vector(150, 2)};
    const Columns y = applied<TypeParam>(*m, x);
    const double scale = std::sqrt(dot(x[0], y[0]) * dot(x[1], y[1]));
    EXPECT_NEAR(dot(x[0], y[1]) / scale, dot(x[1], y[0]) / scale, 1e-13);
    for (int i = 0; i < 150; ++i) {
      std::vector<double> unit(150, 0);
      unit[i] = 1;
      EXPECT_GT(applied<TypeParam>(*m, {unit})[0][i], 0);
    }
  }
}

TYPED_TEST(StoredFactors, AnyScaleOfTheMatrix) {
  const HostMatrix<double> a = random_spd(60, 0.2, 7);
  const Columns x = {random_vector(60, 1)};
  for (const auto& [storage, error] : storages) {
    const Columns plain = applied<TypeParam>(*computed<TypeParam>(a, storage), x);
    for (const double scale : {0x1p-300, 0x1p300}) {
      HostMatrix<double> scaled = a;
      for (double& value : scaled.values) value *= scale;
      const Columns found = applied<TypeParam>(*computed<TypeParam>(scaled, storage), x);
      for (int i = 0; i < 60; ++i) EXPECT_EQ(found[0][i] * scale, plain[0][i]);
    }
  }
}

TYPED_TEST(StoredFactors, TakeLessMemoryAndNoFenceOrAllocationToApply) {
  const HostMatrix<double> a = to_host(generate<double>(Kokkos::DefaultHostExecutionSpace(), "poisson2d:20"));
  const auto full = computed<TypeParam>(a, Storage::full);
  for (const auto& [storage, error] : storages) {
    const auto m = computed<TypeParam>(a, storage);
    const std::int64_t saved =
        2 * m->report().nnz * (storage == Storage::single_precision ? 4 : 6) - 8 * a.num_rows;
    EXPECT_EQ(m->report().bytes, full->report().bytes - saved);
    EXPECT_EQ(m->factor().values.extent(0), 0u);
    const TypeParam space;
    const MultiVector<double, TypeParam> x("x", 400, 2), y("y", 400, 2);
    const auto workspace = m->make_workspace(space, 2);
    space.fence();
    const ToolEvents events;
    m->apply(space, x, y, *workspace);
    EXPECT_EQ(events.kernels().size(), 2u);  // both columns in one
    EXPECT_THAT(events.fences(), ::testing::IsEmpty());
    EXPECT_THAT(events.allocations(), ::testing::IsEmpty());
  }
}

TYPED_TEST(StoredFactors, CgNeedsAboutAsManyIterations) {
  const TypeParam space;
  const auto a = generate<double>(space, "elasticity3d:8");
  const auto iterations = [&](Storage storage) {
    AdaptiveFsaiOptions options = AdaptiveFsaiOptions::published();
    options.storage = storage;
    AdaptiveFsai<double, TypeParam> m(options);
    m.symbolic(space, a);
    m.numeric(space, a);
    const Vector<double, TypeParam> b("b", a.num_rows), x("x", a.num_rows);
    Kokkos::deep_copy(b, 1.0);
    const auto result = Cg<double, TypeParam>().solve(space, CsrOperator<double, TypeParam>(a), &m, b, x, {});
    EXPECT_TRUE(result.converged);
    EXPECT_LE(result.true_relative_residual, 2e-6);
    return static_cast<double>(result.iterations);
  };
  const double full = iterations(Storage::full);
  EXPECT_NEAR(iterations(Storage::single_precision), full, 1);
  EXPECT_NEAR(iterations(Storage::half), full, 0.1 * full);
  EXPECT_NEAR(iterations(Storage::bfloat16), full, 0.2 * full);
}

TYPED_TEST(StoredFactors, ASecondNumericKeepsThePattern) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(150, 0.1, 41), changed = with_larger_diagonal(a, 1);
  const Columns x = {random_vector(150, 1)};
  for (const auto& [storage, error] : storages) {
    const auto m = computed<TypeParam>(a, storage, 1);
    m->numeric(space, to_device<TypeParam>(changed));
    EXPECT_TRUE(m->report().pattern_kept);
    EXPECT_EQ(applied<TypeParam>(*m, x), applied<TypeParam>(*computed<TypeParam>(changed, storage, 1), x));
  }
}

TYPED_TEST(StoredFactors, AFloatMatrixKeepsItsValuesInSingle) {
  const HostMatrix<float> a = convert<float>(random_spd(40, 0.2, 9));
  EXPECT_TRUE(to_host(computed<TypeParam>(a, Storage::single_precision)->factor()) ==
              to_host(computed<TypeParam>(a, Storage::full)->factor()));
  EXPECT_EQ(computed<TypeParam>(a, Storage::half)->factor().values.extent(0), 0u);
}

/// Inverses that are given and not found.
template <class Space>
class GivenFactors : public FactoredInverse<double, Space> {
 public:
  using typename FactoredInverse<double, Space>::matrix_type;
  using typename FactoredInverse<double, Space>::matrix_source;
  GivenFactors(const matrix_type& lower, const matrix_type& upper_transposed, Storage storage)
      : m_given_lower(lower), m_given_upper_transposed(upper_transposed), m_storage(storage) {
    this->numeric(Space(), lower);
  }
  std::string name() const override { return "given"; }

 protected:
  void symbolic_step(const Space&, const matrix_source&) override {}
  void numeric_step(const Space& space, const matrix_source&, Report& report) override {
    this->store_factors(space, m_given_lower, m_given_upper_transposed, m_storage, report);
  }

 private:
  matrix_type m_given_lower, m_given_upper_transposed;
  Storage m_storage;
};

template <class Space>
class GivenInverse : public ExplicitInverse<double, Space> {
 public:
  using typename ExplicitInverse<double, Space>::matrix_type;
  using typename ExplicitInverse<double, Space>::matrix_source;
  GivenInverse(const matrix_type& m, Storage storage) : m_given(m), m_storage(storage) {
    this->numeric(Space(), m);
  }
  std::string name() const override { return "given"; }

 protected:
  void symbolic_step(const Space&, const matrix_source&) override {}
  void numeric_step(const Space& space, const matrix_source&, Report& report) override {
    this->store_inverse(space, m_given, m_storage, report);
  }

 private:
  matrix_type m_given;
  Storage m_storage;
};

// G = [1 0; 1 d] with a d that the other entries of its row leave no place for becomes [1 0; 1 +-least]. Then
// G^T G = [2 h; h h^2] with h = +-least: H's rows and those of H^T have the same roundings.
TYPED_TEST(StoredFactors, ADiagonalEntryFarBelowTheOthersDoesNotVanish) {
  for (const auto& [storage, error] : storages) {
    const int least = storage == Storage::half ? -28 : -126;
    for (const int exponent : {least + 1, least, least - 1, least - 9, least - 23, 2 * least, 3 * least}) {
      for (const double sign : {1.0, -1.0}) {
        const auto g = to_device<TypeParam>(sparse<double>({{1, 0}, {1, sign * std::ldexp(1.0, exponent)}}));
        const GivenFactors<TypeParam> m(g, g, storage);
        const double h = sign * std::ldexp(1.0, std::max(exponent, least));
        EXPECT_EQ(applied<TypeParam>(m, {{1, 0}, {0, 1}}), (Columns{{2, h}, {h, h * h}}))
            << "2^" << exponent << ", storage " << static_cast<int>(storage);
      }
    }
  }
}

TYPED_TEST(StoredFactors, EntriesThatAreNotFiniteAreNotTaken) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  // Rows 2 and 4 have a usable diagonal entry, row 3 has none.
  const auto g = sparse<double>(
      {{2, 0, 0, 0, 0}, {1, inf, 0, 0, 0}, {0, nan, 4, 0, 0}, {1, 0, 0, nan, 0}, {-inf, 1, 1, 0, 8}});
  for (const Storage storage : {Storage::full, Storage::half}) {
    const auto one = to_device<TypeParam>(g);
    const GivenFactors<TypeParam> m(one, one, storage);
    EXPECT_EQ(applied<TypeParam>(m, {{1, 1, 1, 1, 1}})[0], (std::vector<double>{4, 1, 16, 1, 64}));
    const Breakdowns& breakdowns = m.report().breakdowns;
    EXPECT_EQ(breakdowns.count, 4);
    EXPECT_EQ(breakdowns.first_row, 1);
    EXPECT_EQ(breakdowns.action, "4 rows had entries that are not finite and kept only their diagonal");
  }
  const auto sound = sparse<double>({{1, 0}, {1, 2}}), bad = sparse<double>({{1, 0}, {nan, 4}});
  for (const bool lower : {true, false}) {
    const auto first = to_device<TypeParam>(lower ? bad : sound),
               second = to_device<TypeParam>(lower ? sound : bad);
    const GivenFactors<TypeParam> m(first, second, Storage::full);
    EXPECT_EQ(applied<TypeParam>(m, {{1, 1}})[0], (std::vector<double>{1, 8}));
    EXPECT_EQ(m.report().breakdowns.count, 1);
    EXPECT_EQ(m.report().breakdowns.first_row, 1);
  }
}

TYPED_TEST(StoredFactors, RowsOfZerosAndOfTheLeastNumbersAreStored) {
  auto m = sparse<double>({{1, 1, 0}, {0, 1, 1}, {1, 0, 1}});
  m.values = {0, 0, 0x1.8p-1021, -0x1p-1022, 0x1p1023, -0x1p1023};
  for (const auto& [storage, error] : storages) {
    const GivenInverse<TypeParam> inverse(to_device<TypeParam>(m), storage);
    EXPECT_EQ(applied<TypeParam>(inverse, {{1, 1, 0.25}})[0],
              (std::vector<double>{0, 0x1.8p-1021 - 0x1p-1024, 0x1.8p1022}));
  }
}

/// Rows that are put together elsewhere: nothing is transposed, and there is nothing to apply.
TYPED_TEST(StoredFactors, RowsAlone) {
  const TypeParam space;
  const auto check = [&](auto whole, auto part, const HostMatrix<double>& matrix, bool symmetric) {
    const auto a = to_device<TypeParam>(matrix);
    part.keep_rows_only();
    for (int k = 0; k < 2; ++k) {
      whole.numeric(space, a);
      part.numeric(space, a);
      EXPECT_TRUE(to_host(part.factor()) == to_host(whole.factor()));
      if (symmetric)
        EXPECT_EQ(part.factor_transposed().nnz(), 0);
      else
        EXPECT_TRUE(to_host(transpose<double, TypeParam>(space, part.factor_transposed())) ==
                    to_host(whole.factor_transposed()));
      EXPECT_EQ(part.report().nnz, whole.report().nnz);
      EXPECT_LT(part.report().bytes, whole.report().bytes + !symmetric);
      EXPECT_THROW(part.make_workspace(space, 1), std::logic_error);
    }
  };
  check(Fsai<double, TypeParam>(), Fsai<double, TypeParam>(), problem("elasticity3d:3"), true);
  check(AdaptiveFsai<double, TypeParam>(), AdaptiveFsai<double, TypeParam>(), problem("elasticity3d:3"),
        true);
  check(NonsymmetricFsai<double, TypeParam>(), NonsymmetricFsai<double, TypeParam>(),
        problem("convection_diffusion3d:5"), false);
}

}  // namespace
}  // namespace prekond::testing
