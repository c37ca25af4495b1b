// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// What block_jacobi and schwarz solve their blocks by, and how rows are put into blocks: options that both
/// have.
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/pattern/partition.hpp>
#include <prekond/precond/setup_options.hpp>

#include <optional>
#include <string>

namespace prekond {

/// The names that `local` may have: methods of a team a block (dense, ilu0, ic0, ilut), then every registered
/// preconditioner, which is given the block-diagonal matrix of all blocks. Where both have a name, it is the
/// first's.
template <class Space = Kokkos::DefaultExecutionSpace>
MethodTable local_method_table();

/// What the options of a method say of it. \throws OptionError for an unknown name
template <class Space = Kokkos::DefaultExecutionSpace>
Properties local_method_properties(const MethodChoice& choice);

/// `local = dense`: the inverses of the blocks. Memory: for the rows m of each block m^2 numbers of
/// `storage`; on a GPU, whose rows are kept in slices of 32, each row as many as the largest block in its
/// slice.
struct DenseBlockOptions {
  static constexpr const char* name = "dense";
  static constexpr const char* summary = "the inverse of each block, dense";
  static constexpr const char* paper = "Anzt, Dongarra, Flegar, Quintana-Orti, Parallel Comput. 81 (2019)";

  Storage storage = Storage::full;
  std::int64_t memory_budget = std::int64_t(16) << 30;
  std::int64_t workspace_budget = std::int64_t(256) << 20;

  Properties properties() const { return {.symmetry = Symmetry::symmetric}; }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("storage", storage, storage_choices(),
          "precision in which the inverses are kept and applied; full: the matrix's; half and bfloat16 keep "
          "symmetry, and definiteness only of well-conditioned blocks");
    visit("memory_budget", memory_budget, std::int64_t(1) << 10, std::int64_t(1) << 50,
          "bytes that the inverses may take; the setup refuses to take more");
    visit.formerly("inverse_bytes");
    visit("workspace_budget", workspace_budget, std::int64_t(1) << 16, std::int64_t(1) << 40,
          "bytes of temporary memory for blocks that do not fit the scratch of a team; more bytes allow more "
          "blocks at the same time");
    visit.formerly("slab_bytes");
  }
};

/// `local = ilu0`: A = L U on A's pattern in each block. Memory: a number for each of A's entries in the
/// blocks, and for each row one and 8 bytes.
struct LocalIlu0Options {
  static constexpr const char* name = "ilu0";
  static constexpr const char* summary = "ILU(0) of each block, by a team";
  static constexpr const char* paper =
      "Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., section 10.3.2";
  Properties properties() const { return {.symmetry = Symmetry::unknown}; }
  template <class Visitor>
  void describe(Visitor&) {}
};

/// `local = ic0`: A = L L^T on the pattern of A's lower triangle in each block. Memory: for each of A's
/// entries in it a number and 12 bytes, and for each row one and 16 bytes.
struct LocalIc0Options {
  static constexpr const char* name = "ic0";
  static constexpr const char* summary =
      "IC(0) of each block of a symmetric positive definite matrix, by a team";
  static constexpr const char* paper = "Meijerink, van der Vorst, Math. Comp. 31 (1977)";
  Properties properties() const { return {.needs_spd = true, .symmetry = Symmetry::symmetric}; }
  template <class Visitor>
  void describe(Visitor&) {}
};

/// `local = ilut`: ILUT(p, tau) of each block.
///
/// Cost: a row is built in a dense working row of the block's m numbers, which is searched and cleared: m^2
/// operations a block besides those of the factors. Memory: an entry of L or U takes a number and 4 bytes, a
/// row a number and 16 bytes. While the factors grow there is room for the most entries that rows may have,
/// A's and `fill` of L and of U each, m (m - 1) in a block at most; `memory_budget` bounds it.
struct LocalIlutOptions {
  static constexpr const char* name = "ilut";
  static constexpr const char* summary = "ILUT of each block, by a team: entries dropped by size and number";
  static constexpr const char* paper = "Saad, Numer. Linear Algebra Appl. 1 (1994)";

  double drop_tolerance = 1e-3;
  int fill = 10;
  std::int64_t memory_budget = std::int64_t(16) << 30;

  Properties properties() const { return {.symmetry = Symmetry::unknown}; }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("drop_tolerance", drop_tolerance, 0.0, 1.0,
          "tau: what is below tau times the 2-norm of A's row in the block is dropped; of L before it is "
          "divided by "
          "the pivot");
    visit(
        "fill", fill, 0, 1000000,
        "p: a row of L keeps as many entries as A has there and p more, the largest ones after the division "
        "by the pivots, and so does one of U");
    visit("memory_budget", memory_budget, std::int64_t(1) << 10, std::int64_t(1) << 50,
          "bytes that the entries of the factors may take while they grow; the setup refuses to take more");
    visit.formerly("factor_bytes");
  }
};

/// How rows are put into blocks.
struct BlockPartitionOptions {
  PartitionMethod partition = PartitionMethod::automatic;
  int num_blocks = 0;
  std::optional<int> block_size;
  int max_block_size = 32;

  /// Sets block_size where it is what counts. \throws OptionError for a number of blocks and a size, or one
  /// of them for supervariables
  void resolve(const std::string& name, const MethodChoice& local) {
    if (num_blocks > 0 && block_size)
      throw OptionError(name + ": num_blocks and block_size say the same; set one of them");
    const bool by_patterns = partition == PartitionMethod::supervariables;
    if (by_patterns && (num_blocks > 0 || block_size))
      throw OptionError(name +
                        ": the blocks of partition = supervariables are bounded by max_block_size, not by " +
                        (num_blocks > 0 ? "num_blocks" : "block_size"));
    if (!block_size && num_blocks == 0 && !by_patterns)
      block_size = local.name == DenseBlockOptions::name ? 64 : 512;
  }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("partition", partition, partition_choices(),
          "how rows are put into blocks: auto (metis where the build has it, else bisection) and those two "
          "keep "
          "neighbours together, on the host; rows: consecutive ones; supervariables: the unknowns of nodes");
    visit("num_blocks", num_blocks, 0, 1000000000, "number of blocks; 0: by block_size");
    visit("block_size", block_size, 1, 1000000000,
          "mean number of rows of a block, where num_blocks is 0; auto: 64 of local = dense, 512 of others");
    visit("max_block_size", max_block_size, 1, 1024,
          "of supervariables: the most rows of a block, which consecutive ones are put together to");
  }
};

/// What block methods have in common: how rows are put into blocks, and what is done with each.
struct BlockMethodOptions : BlockPartitionOptions {
  MethodChoice local = {DenseBlockOptions::name, {}};

  /// \see BlockPartitionOptions::resolve
  void resolve(const std::string& name) { BlockPartitionOptions::resolve(name, local); }
  Properties local_properties() const { return local_method_properties(local); }

  /// The last of a method's options.
  template <class Visitor>
  void describe_local(Visitor& visit) {
    visit.method(
        "local", local, local_method_table(),
        "what is done with each block: dense (its inverse), ilu0, ic0, ilut, each by a team a block; or "
        "any preconditioner, of the block-diagonal matrix");
  }
};

}  // namespace prekond
