// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Common parts of the tests of the ISAI.
#include "testing/general_matrices.hpp"
#include "testing/host_graph.hpp"
#include "testing/reference_isai.hpp"

#include <prekond/precond/isai.hpp>

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
  const Space space;
  const auto device = to_device<Space>(a);
  Isai<Scalar, Space> isai(options);
  if (pattern) isai.set_pattern(space, graph_of<Space>(*pattern, a.num_rows));
  isai.symbolic(space, device);
  isai.numeric(space, device);
  if (report) *report = isai.report();
  return to_host(isai.factored() ? isai.factored()->factor() : isai.inverse());
}

/// The matrix that a kind inverts, and its pattern: S^k of the matrix or of its triangle.
inline Dense part_of(const HostMatrix<double>& a, IsaiKind kind, bool unit_diagonal = false) {
  const Dense dense = to_dense(a);
  return kind == IsaiKind::general ? dense : triangle_of(dense, kind == IsaiKind::upper, unit_diagonal);
}
inline HostGraph part_of(const HostGraph& s, IsaiKind kind) {
  return kind == IsaiKind::general ? s : triangle_of(s, kind == IsaiKind::upper);
}

}  // namespace prekond::testing
