// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The methods that solve the systems of subdomains: the dense inverse of each block, or any registered
/// preconditioner of the block-diagonal matrix.
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/precond/setup_options.hpp>

#include <cstdint>

namespace prekond {

/// The names that `local` may have: dense, then every registered preconditioner.
template <class Space = Kokkos::DefaultExecutionSpace>
MethodTable local_method_table();

/// The properties that follow from the options of a local method. \throws OptionError for an unknown name
template <class Space = Kokkos::DefaultExecutionSpace>
Properties local_method_properties(const MethodChoice& choice);

/// `local = dense`: the inverses of the blocks.
///
/// Memory: m^2 numbers of `storage` for a block of m rows. A GPU keeps the rows in slices of 32, in which
/// each row takes as many numbers as the largest block of the slice has rows.
struct DenseBlockOptions {
  static constexpr const char* name = "dense";
  static constexpr const char* summary = "the inverse of each block, dense";
  static constexpr const char* paper = "Anzt, Dongarra, Flegar, Quintana-Orti, Parallel Comput. 81 (2019)";

  Storage storage = Storage::full;
  std::int64_t memory_budget = 0;
  std::int64_t workspace_budget = std::int64_t(256) << 20;

  Properties properties() const { return {.symmetry = Symmetry::symmetric}; }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("storage", storage, storage_choices(),
          "precision in which the inverses are kept and applied; half and bfloat16 keep symmetry, and "
          "definiteness only of well-conditioned blocks; full: the matrix's precision");
    visit("memory_budget", memory_budget, 0, std::int64_t(1) << 50,
          "bytes that the inverses may take; the setup refuses to take more. Raise it for larger blocks; 0: "
          "auto, 16 GiB, and with overlap 16 times what blocks of a three-dimensional mesh take");
    visit.formerly("inverse_bytes");
    visit("workspace_budget", workspace_budget, std::int64_t(1) << 16, std::int64_t(1) << 40,
          "bytes of temporary memory for blocks that do not fit the scratch of a team; more bytes allow more "
          "blocks at the same time");
    visit.formerly("slab_bytes");
  }
};

}  // namespace prekond
