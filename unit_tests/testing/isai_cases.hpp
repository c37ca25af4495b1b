// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Common parts of the tests of the ISAI.
#include "testing/general_matrices.hpp"
#include "testing/host_graph.hpp"
#include "testing/reference_isai.hpp"
#include "testing/set_up.hpp"

#include <gtest/gtest.h>
#include <prekond/precond/isai.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace prekond::testing {

inline constexpr IsaiKind explicit_kinds[] = {IsaiKind::general, IsaiKind::lower, IsaiKind::upper};
inline constexpr IsaiKind all_kinds[] = {IsaiKind::general, IsaiKind::spd, IsaiKind::lower, IsaiKind::upper};

inline std::string word_of(IsaiKind kind) {
  for (const auto& [word, value] : isai_kinds())
    if (value == kind) return word;
  return "";
}

inline IsaiOptions of_kind(IsaiKind kind, int power = 1, Precision precision = Precision::double_precision) {
  IsaiOptions options;
  options.kind = kind;
  options.power = power;
  options.setup_scalar = precision;
  return options;
}

inline std::vector<IsaiOptions> both_precisions(IsaiKind kind, int power = 1) {
  return {of_kind(kind, power, Precision::single_precision), of_kind(kind, power)};
}

template <class Space, class Scalar>
HostMatrix<Scalar> inverse_of(const HostMatrix<Scalar>& a, const IsaiOptions& options,
                              Report* report = nullptr, const HostGraph* pattern = nullptr) {
  const auto m = set_up<Isai, Space>(a, options, report, pattern);
  return to_host(m->factored() ? m->factored()->factor() : m->inverse());
}

/// The matrix that a kind inverts, and its pattern: S^k of the matrix or of its triangle.
inline Dense part_of(const HostMatrix<double>& a, IsaiKind kind, bool unit_diagonal = false) {
  const Dense dense = to_dense(a);
  return kind == IsaiKind::general ? dense : triangle_of(dense, kind == IsaiKind::upper, unit_diagonal);
}
inline HostGraph part_of(const HostGraph& s, IsaiKind kind) {
  return kind == IsaiKind::general ? s : triangle_of(s, kind == IsaiKind::upper);
}

/// Every entry is finite, and no row is zero; the diagonal's own entry may be.
inline void expect_finite_rows(const HostMatrix<double>& m) {
  for (int i = 0; i < m.num_rows; ++i) {
    bool has_entry = false;
    for (std::size_t k = m.row_ptrs[i]; k < m.row_ptrs[i + 1]; ++k) {
      ASSERT_TRUE(std::isfinite(m.values[k])) << "row " << i;
      has_entry = has_entry || m.values[k] != 0;
    }
    ASSERT_TRUE(has_entry) << "row " << i;
  }
}

}  // namespace prekond::testing
