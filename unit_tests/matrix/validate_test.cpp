// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/validate.hpp>

#include "testing/host_matrix.hpp"
#include "testing/spaces.hpp"

#include <limits>

namespace prekond::testing {
namespace {

template <class Space, class Scalar>
void check(const HostMatrix<Scalar>& a) {
  const auto matrix = to_device<Space>(a);
  validate<Scalar, Space>(Space(), matrix);
}

template <class Space, class Scalar>
void check_spd(const HostMatrix<Scalar>& a) {
  const auto matrix = to_device<Space>(a);
  validate<Scalar, Space>(Space(), matrix);
  check_spd_input<Scalar, Space>(Space(), matrix);
}

template <class Space>
std::string refusal(const HostMatrix<double>& a) {
  return message_of<InputError>([&] { check<Space>(a); });
}

template <class Space, class Scalar>
std::string spd_refusal(const HostMatrix<Scalar>& a) {
  return message_of<InputError>([&] { check_spd<Space>(a); });
}

/// 3 x 4 with an empty row.
HostMatrix<double> small_matrix() {
  return sparse<double>({{1, 0, 2, 3}, {0, 0, 0, 0}, {4, 5, 0, 6}});
}

template <class Space>
class Validate : public ::testing::Test {};
TYPED_TEST_SUITE(Validate, TestSpaces, SpaceNames);

TYPED_TEST(Validate, AcceptsSoundMatrices) {
  EXPECT_NO_THROW(check<TypeParam>(small_matrix()));
  EXPECT_NO_THROW(check<TypeParam>(HostMatrix<double>{}));
  EXPECT_NO_THROW(check<TypeParam>(sparse<float>({{1.0f}})));
  HostMatrix<double> no_entries;
  no_entries.num_rows = no_entries.num_cols = 2;
  no_entries.row_ptrs = {0, 0, 0};
  EXPECT_NO_THROW(check<TypeParam>(no_entries));
}

TYPED_TEST(Validate, RefusesSizesThatDoNotFit) {
  using Space = TypeParam;
  auto a = small_matrix();
  a.row_ptrs.pop_back();
  EXPECT_EQ(refusal<Space>(a), "row_ptrs has 3 elements; a matrix of 3 rows needs 4");
  a = small_matrix();
  a.values.pop_back();
  EXPECT_EQ(refusal<Space>(a), "col_idxs has 6 elements and values has 5; they must have one for each entry");
  a = small_matrix();
  a.num_rows = -1;
  EXPECT_EQ(refusal<Space>(a), "the matrix has -1 rows and 4 columns; neither may be negative");
  a = small_matrix();
  a.num_cols = std::int64_t(1) << 31;
  EXPECT_EQ(refusal<Space>(a),
            "the matrix has 3 rows and 2147483648 columns; int numbers at most 2147483647");
}

TYPED_TEST(Validate, RefusesNullArrays) {
  using Space = TypeParam;
  CsrView<double, Space> a;
  EXPECT_EQ(message_of<InputError>([&] { validate<double, Space>(Space(), a); }),
            "row_ptrs has 0 elements; a matrix of 0 rows needs 1");
  const auto sound = to_device<Space>(small_matrix());
  a = sound;
  a.values = VectorView<const double, Space>(nullptr, 6);
  EXPECT_EQ(message_of<InputError>([&] { validate<double, Space>(Space(), a); }),
            "the matrix has a null array: allocate row_ptrs, col_idxs and values before it is used");
}

TYPED_TEST(Validate, RefusesBadRowPointers) {
  using Space = TypeParam;
  auto a = small_matrix();
  a.row_ptrs = {1, 3, 3, 6};
  EXPECT_EQ(refusal<Space>(a), "row_ptrs starts at 1; it must start at 0");
  a.row_ptrs = {0, 4, 3, 6};
  EXPECT_EQ(refusal<Space>(a), "row_ptrs decreases from 4 to 3 at the end of row 2");
  a.row_ptrs = {0, 3, 3, 5};
  EXPECT_EQ(refusal<Space>(a), "the last of row_ptrs is 5, but the matrix has 6 entries");
  a.row_ptrs = {0, 3, 7, 6};
  EXPECT_EQ(refusal<Space>(a), "row 2 ends at entry 7, but the matrix has 6 entries");
}

TYPED_TEST(Validate, RefusesBadColumns) {
  using Space = TypeParam;
  auto a = small_matrix();
  a.col_idxs[4] = 4;
  a.col_idxs[5] = -7;
  EXPECT_EQ(refusal<Space>(a), "row 3, position 2: column 5 is out of the range 1 .. 4");
  a = small_matrix();
  a.col_idxs[2] = -1;
  EXPECT_EQ(refusal<Space>(a), "row 1, position 3: column 0 is out of the range 1 .. 4");
  a = small_matrix();
  a.col_idxs[5] = 1;
  EXPECT_EQ(refusal<Space>(a), "row 3, position 3: column 2 is there twice; add the entries up");
  a = small_matrix();
  std::swap(a.col_idxs[3], a.col_idxs[4]);
  EXPECT_EQ(refusal<Space>(a),
            "row 3, position 2: column 1 follows column 2; sort each row by column (prekond::sort_rows)");
}

TYPED_TEST(Validate, RefusesValuesThatAreNotFinite) {
  using Space = TypeParam;
  auto a = small_matrix();
  a.values[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(refusal<Space>(a), "entry (3, 1) is NaN; all values must be finite");
  a = small_matrix();
  a.values[2] = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(refusal<Space>(a), "entry (1, 4) is -inf; all values must be finite");
}

TYPED_TEST(Validate, NamesTheFirstOfMany) {
  using Space = TypeParam;
  auto a = to_host(generate<double>(Kokkos::DefaultHostExecutionSpace(), "poisson2d:101"));
  for (std::size_t k = a.nnz() / 3; k < a.nnz(); ++k) a.values[k] = std::numeric_limits<double>::quiet_NaN();
  std::int64_t row = 0;
  while (a.row_ptrs[row + 1] <= a.nnz() / 3) ++row;
  EXPECT_EQ(refusal<Space>(a), "entry (" + std::to_string(row + 1) + ", " +
                                   std::to_string(a.col_idxs[a.nnz() / 3] + 1) +
                                   ") is NaN; all values must be finite");
}

TYPED_TEST(Validate, AcceptsSpdMatrices) {
  EXPECT_NO_THROW(check_spd<TypeParam>(sparse<double>({{2, -1}, {-1, 2}})));
  EXPECT_NO_THROW(check_spd<TypeParam>(sparse<double>({{2, -1}, {-1 + 1e-11, 2}})));
  EXPECT_NO_THROW(check_spd<TypeParam>(sparse<float>({{2, -1}, {-1 + 1e-6f, 2}})));
  // A tiny entry without a mirror is within the tolerance.
  EXPECT_NO_THROW(check_spd<TypeParam>(sparse<double>({{2, 1e-11}, {0, 2}})));
  EXPECT_NO_THROW(check_spd<TypeParam>(sparse<double>({{1e-300, 1e-301}, {1e-301, 1e300}})));
}

TYPED_TEST(Validate, RefusesShapesThatCannotBeSpd) {
  using Space = TypeParam;
  EXPECT_EQ(spd_refusal<Space>(small_matrix()),
            "CG needs a square matrix, this one has 3 rows and 4 columns");
  EXPECT_EQ(spd_refusal<Space>(HostMatrix<double>{}), "the matrix is empty: it has no rows");
}

TYPED_TEST(Validate, LooksAtARanksOwnColumnsOnly) {
  using Space = TypeParam;
  const auto refusal_of_part = [](const HostMatrix<double>& a) -> std::string {
    try {
      check_local_spd_input<double, Space>(Space(), to_device<Space>(a));
      return "";
    } catch (const InputError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(refusal_of_part(sparse<double>({{2, -1, 7, 0}, {-1, 2, 0, 9}})), "");
  EXPECT_THAT(refusal_of_part(sparse<double>({{2, -1, 7}, {1, 2, 0}})),
              ::testing::HasSubstr("not symmetric: entry (1, 2)"));
  EXPECT_THAT(refusal_of_part(sparse<double>({{2, 0, 7}, {0, 0, 5}})),
              ::testing::HasSubstr("row 2 is missing"));
  EXPECT_THAT(refusal_of_part(sparse<double>({{2}, {1}})), ::testing::HasSubstr("2 rows and 1 columns"));
  HostMatrix<double> no_rows;
  no_rows.num_cols = 5;
  EXPECT_EQ(refusal_of_part(no_rows), "");
}

TYPED_TEST(Validate, RefusesDiagonalsThatCannotBeSpd) {
  using Space = TypeParam;
  const std::string advice = "; a symmetric positive definite matrix has a positive diagonal";
  EXPECT_EQ(spd_refusal<Space>(sparse<double>({{2, 1, 0}, {1, 0, 1}, {0, 1, -1}})),
            "the diagonal entry of row 2 is missing" + advice);
  EXPECT_EQ(spd_refusal<Space>(sparse<double>({{2, 1, 0}, {1, 3, 1}, {0, 1, -1.25}})),
            "the diagonal entry of row 3 is -1.25" + advice);
  auto zero = sparse<double>({{2, 1}, {1, 3}});
  zero.values[3] = 0;
  EXPECT_EQ(spd_refusal<Space>(zero), "the diagonal entry of row 2 is 0" + advice);
  HostMatrix<double> empty_row;
  empty_row.num_rows = empty_row.num_cols = 1;
  empty_row.row_ptrs = {0, 0};
  EXPECT_EQ(spd_refusal<Space>(empty_row), "the diagonal entry of row 1 is missing" + advice);
}

TYPED_TEST(Validate, RefusesUnsymmetricMatrices) {
  using Space = TypeParam;
  const std::string advice =
      "; use a solver for general matrices, such as bicgstab or gmres, and a preconditioner for them";
  EXPECT_EQ(spd_refusal<Space>(sparse<double>({{2, 1, 0}, {1, 2, -0.5}, {0, -0.25, 2}})),
            "the matrix is not symmetric: entry (2, 3) is -0.5, entry (3, 2) is -0.25" + advice);
  EXPECT_EQ(spd_refusal<Space>(sparse<double>({{2, 0, 0}, {1, 2, 0}, {0, 0, 2}})),
            "the matrix is not symmetric: entry (2, 1) is 1, entry (1, 2) is missing (0)" + advice);
  EXPECT_EQ(spd_refusal<Space>(sparse<double>({{2, -1}, {-1 + 1e-9, 2}})),
            "the matrix is not symmetric: entry (1, 2) is -1, entry (2, 1) is -0.99999999900000003" + advice);
  EXPECT_EQ(spd_refusal<Space>(sparse<float>({{2, -1}, {-1.125f, 2}})),
            "the matrix is not symmetric: entry (1, 2) is -1, entry (2, 1) is -1.125" + advice);
}

TYPED_TEST(Validate, GeneratedMatrices) {
  using Space = TypeParam;
  for (const char* spec : {"poisson3d:11", "elasticity3d:7", "circuit:40", "anisotropic2d:9"})
    EXPECT_NO_THROW(check_spd<Space>(to_host(generate<double>(Space(), spec)))) << spec;
  EXPECT_NE(spd_refusal<Space>(to_host(generate<double>(Space(), "convection_diffusion3d:4"))), "");
}

}  // namespace
}  // namespace prekond::testing
