// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The checks of every phase of a preconditioner before it begins: a few comparisons on the host.
#include <prekond/core/error.hpp>
#include <prekond/core/preconditioner.hpp>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

namespace prekond::impl {

/// \throws InputError for a matrix with fewer columns than rows
inline void check_part(std::int64_t num_rows, std::int64_t num_cols, const std::string& name) {
  if (num_cols >= num_rows) return;
  throw InputError(name + ": the matrix has " + std::to_string(num_rows) + " rows but only " +
                   std::to_string(num_cols) + " columns");
}

/// \throws InputError where numeric is given another size than symbolic was
inline void check_same_rows(std::int64_t numeric, std::int64_t symbolic, const std::string& name) {
  if (numeric == symbolic) return;
  throw InputError(name + ": numeric was given " + std::to_string(numeric) + " rows, symbolic " +
                   std::to_string(symbolic) + "; call symbolic again");
}

/// Does a vector of x share memory with one of y? The vectors of both may lie between each other, as those of
/// two parts of one block of vectors do.
template <class Scalar, class Space>
bool overlap(const MultiVectorView<const Scalar, Space>& x, const MultiVectorView<Scalar, Space>& y) {
  const std::less<const Scalar*> before;
  const auto intersect = [&](const Scalar* a, std::size_t of_a, const Scalar* b, std::size_t of_b) {
    return before(a, b + of_b) && before(b, a + of_a);
  };
  if (x.size() == 0 || y.size() == 0 || !intersect(x.data(), x.span(), y.data(), y.span())) return false;
  for (std::size_t i = 0; i < x.extent(1); ++i)
    for (std::size_t j = 0; j < y.extent(1); ++j)
      if (intersect(x.data() + i * x.stride(1), x.extent(0), y.data() + j * y.stride(1), y.extent(0)))
        return true;
  return false;
}

/// \throws InputError for vectors of another length than the matrix, or not as many of both \throws
/// std::logic_error for vectors that share memory
template <class Scalar, class Space>
void check_vectors(std::int64_t num_rows, const MultiVectorView<const Scalar, Space>& x,
                   const MultiVectorView<Scalar, Space>& y, const Preconditioner<Scalar, Space>& m) {
  const auto n = static_cast<std::size_t>(num_rows);
  if (x.extent(0) != n || y.extent(0) != n || x.extent(1) != y.extent(1)) {
    const auto size = [](const auto& v) {
      return std::to_string(v.extent(0)) + " x " + std::to_string(v.extent(1));
    };
    throw InputError(m.name() + ": apply was given x of " + size(x) + " and y of " + size(y) + ", and has " +
                     std::to_string(n) + " rows");
  }
  if (overlap<Scalar, Space>(x, y))
    throw std::logic_error(m.name() + ": apply was given x and y that share memory; y must not overlap x");
}

}  // namespace prekond::impl
