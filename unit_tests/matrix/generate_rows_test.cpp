// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Some rows of a generated matrix, as each rank makes its own: the bits of the whole matrix.
#include <prekond/matrix/generate.hpp>

#include "testing/host_matrix.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;

template <class Space>
class GenerateRows : public ::testing::Test {};
TYPED_TEST_SUITE(GenerateRows, TestSpaces, SpaceNames);

/// Rows begin, ..., end - 1.
template <class Scalar>
HostMatrix<Scalar> rows_of(const HostMatrix<Scalar>& a, std::int64_t begin, std::int64_t end) {
  HostMatrix<Scalar> part;
  part.num_rows = end - begin;
  part.num_cols = a.num_cols;
  part.row_ptrs.assign(1, 0);
  for (std::int64_t i = begin; i < end; ++i) part.row_ptrs.push_back(a.row_ptrs[i + 1] - a.row_ptrs[begin]);
  const auto first = static_cast<std::ptrdiff_t>(a.row_ptrs[begin]),
             last = static_cast<std::ptrdiff_t>(a.row_ptrs[end]);
  part.col_idxs.assign(a.col_idxs.begin() + first, a.col_idxs.begin() + last);
  part.values.assign(a.values.begin() + first, a.values.begin() + last);
  return part;
}

template <class Scalar, class Space>
void expect_rows_of_the_whole(const std::string& spec) {
  ASSERT_TRUE(generates_rows(spec)) << spec;
  const auto whole = to_host(generate<Scalar>(Space(), spec));
  const std::int64_t n = whole.num_rows;
  EXPECT_TRUE(to_host(generate_rows<Scalar, Space>(Space(), spec, {})) == whole) << spec;
  for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{0, n},
                                   {0, 1},
                                   {n - 1, n},
                                   {n / 3, n / 2},
                                   {n / 2 + 1, n - n / 7},
                                   {n / 4, n / 4},
                                   {0, 0},
                                   {n, n}}) {
    std::int64_t asked = -1;
    const auto part = generate_rows<Scalar, Space>(Space(), spec, [&](std::int64_t rows) {
      asked = rows;
      return RowRange{begin, end};
    });
    EXPECT_EQ(asked, n) << spec;
    EXPECT_TRUE(to_host(part) == rows_of(whole, begin, end)) << spec << ", rows " << begin << " to " << end;
  }
}

TYPED_TEST(GenerateRows, HaveTheBitsOfTheWhole) {
  for (const char* spec :
       {"tridiagonal:17", "poisson2d:9", "poisson3d:6", "anisotropic2d:7,epsilon=0.3",
        "convection_diffusion3d:5,peclet=30", "elasticity3d:7", "elasticity3d:2",
        "elasticity3d:5,contrast=1e6,seed=4", "irregular3d:5,unknowns=3",
        "irregular3d:6,longest=60,hubs=0.1,lonely=0.1,skew=0.4", "stretched3d:5,ratio=1.4"}) {
    expect_rows_of_the_whole<double, TypeParam>(spec);
    expect_rows_of_the_whole<float, TypeParam>(spec);
  }
}

TYPED_TEST(GenerateRows, EveryGeneratorOfRealMatricesButTheNetworkMakesThem) {
  for (const auto& generator : generator_list()) {
    const bool expected = generator.name != "circuit" && !generates_complex(generator.name);
    EXPECT_EQ(generates_rows(generator.name + ":4,any=1"), expected) << generator.name;
  }
  EXPECT_FALSE(generates_rows("none:4"));
}

TYPED_TEST(GenerateRows, TakeTheirOwnMemoryAlone) {
  for (const char* spec : {"poisson3d:20", "elasticity3d:14", "irregular3d:10"}) {
    const auto bytes_of = [&](const ChooseRows& choose) {
      const ToolEvents events;
      generate_rows<double, TypeParam>(TypeParam(), spec, choose);
      return static_cast<double>(events.allocated_bytes());
    };
    const double whole = bytes_of({});
    EXPECT_LT(bytes_of([](std::int64_t n) { return RowRange{n / 2, n / 2 + n / 10}; }), 0.2 * whole) << spec;
  }
}

TYPED_TEST(GenerateRows, WhatCannotBeMadeIsRefused) {
  const auto rows = [](const std::string& spec, std::int64_t begin, std::int64_t end) {
    generate_rows<double, TypeParam>(TypeParam(), spec, [&](std::int64_t) { return RowRange{begin, end}; });
  };
  const auto refusal = [&](const std::string& spec) {
    return message_of<OptionError>([&] { rows(spec, 0, 1); });
  };
  EXPECT_THAT(refusal("circuit:9"), HasSubstr("generator 'circuit' makes all rows at once"));
  EXPECT_THAT(refusal("magnetic3d:3"), HasSubstr("makes complex matrices"));
  EXPECT_THAT(refusal("poisson:3"), HasSubstr("no generator is called 'poisson'"));
  EXPECT_THAT(refusal("poisson2d:0"), HasSubstr("SIZE is a positive whole number"));
  EXPECT_THAT(refusal("poisson2d:4,seed=1"), HasSubstr("has no option 'seed'"));
  for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{-1, 3}, {3, 2}, {0, 10}})
    EXPECT_THROW(rows("tridiagonal:9", begin, end), std::logic_error);
}

}  // namespace
}  // namespace prekond::testing
