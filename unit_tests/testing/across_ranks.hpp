// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Methods over ranks in one process, and the same on one rank.
#include "testing/matrix_of_rank.hpp"

#include <prekond/precond/distributed_preconditioner.hpp>
#include <prekond/precond/registry.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace prekond::testing {

template <class Space>
using Method = MatrixPreconditioner<double, Space>;
template <class Space>
using Across = DistributedPreconditioner<double, Space>;

struct Setup {
  std::string name;
  OptionMap options;
  int rank_overlap = -1;
};

inline std::string to_text(const Setup& setup) {
  std::string text = setup.name;
  for (const auto& [key, value] : setup.options) text += " " + key + "=" + to_string(value);
  return text;
}

template <class Space>
std::unique_ptr<Across<Space>> across(const Setup& setup) {
  const auto configurator =
      find_line(preconditioner_registry<double, Space>(), setup.name, "preconditioner").configure();
  configurator->fields().set(setup.options, setup.name);
  DistributedOptions options;
  options.rank_overlap = setup.rank_overlap;
  return std::make_unique<Across<Space>>(*configurator, options);
}

/// On 1 to 7 ranks, two of four without rows, and dealt out in turn.
inline std::vector<Parts> partitions(std::int64_t n) {
  std::vector<Parts> all;
  for (const int size : {1, 2, 3, 4, 7}) {
    std::vector<std::int64_t> sizes;
    for (int rank = 0; rank < size; ++rank) sizes.push_back(n * (rank + 1) / size - n * rank / size);
    all.push_back(consecutive_parts(sizes));
  }
  all.push_back(consecutive_parts({0, n / 3, 0, n - n / 3}));
  all.push_back(cyclic_parts(n, 3));
  return all;
}

/// The method for the whole matrix.
template <class Space>
std::unique_ptr<Method<Space>> on_one_rank(const Setup& setup, const HostMatrix<double>& whole) {
  auto method = create_preconditioner<double, Space>(setup.name, setup.options);
  const auto a = to_device<Space>(whole);
  method->numeric(Space(), a);
  return method;
}

}  // namespace prekond::testing
