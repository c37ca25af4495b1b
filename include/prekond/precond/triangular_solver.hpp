// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/preconditioner.hpp>
#include <prekond/core/report.hpp>
#include <prekond/pattern/level_schedule.hpp>
#include <prekond/precond/setup_options.hpp>

#include <memory>
#include <string>

namespace prekond {

template <class Scalar, class Space>
class Isai;

namespace impl {
namespace triangular {
template <class Space>
struct LevelOrder;
template <class Scalar, class Space>
struct Factor;
template <class Scalar, class Space>
class Solve;
template <class Space>
struct InversePatterns;
}  // namespace triangular
}  // namespace impl

/// The method that solves a system with a triangular factor, see TriangularSolver.
enum class TriangularMethod { automatic, levels, sync_free, jacobi, isai, host };

inline std::vector<std::pair<std::string, TriangularMethod>> triangular_methods() {
  return {{"auto", TriangularMethod::automatic},      {"levels", TriangularMethod::levels},
          {"sync_free", TriangularMethod::sync_free}, {"jacobi", TriangularMethod::jacobi},
          {"isai", TriangularMethod::isai},           {"host", TriangularMethod::host}};
}

/// The methods that solve with a matrix of blocks, too.
inline std::vector<std::pair<std::string, TriangularMethod>> block_triangular_methods() {
  auto methods = triangular_methods();
  methods.resize(5);
  return methods;
}

/// The blocks of a triangle that is given by blocks.
struct BlockShape {
  int size = 0;     ///< b; 0: there are none, but single rows
  int padding = 0;  ///< single rows that the last block row has less

  std::int64_t single_rows(std::int64_t rows) const { return size > 0 ? rows * size - padding : rows; }
  std::int64_t entries() const { return size > 0 ? std::int64_t(size) * size : 1; }  ///< of a block
};

/// Parameters of a triangular solve.
struct TriangularOptions {
  TriangularMethod method = TriangularMethod::automatic;
  int sweeps = 3;
  int isai_power = 1;
  Storage storage = Storage::full;
  std::int64_t max_polls = std::int64_t(1) << 24;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("method", method, triangular_methods(),
          "solver of the system: levels takes a launch a level; sync_free takes one launch, where a row "
          "waits for the rows that it needs; jacobi approximates the solution by sweeps; isai is a sparse "
          "approximate inverse; host solves by levels on the host; auto is levels on a host, and on a device "
          "sync_free, or levels where they have 65536 rows and more in the mean");
    visit("sweeps", sweeps, 0, 1000000,
          "sweeps of method jacobi; more of them are nearer to the exact solution, which one sweep fewer "
          "than there are levels reaches");
    visit("isai_power", isai_power, 1, 1000,
          "power of the triangle's pattern that method isai has; raise it for a nearer inverse");
    visit("storage", storage, storage_choices(),
          "precision in which the factor is kept and applied; full is the matrix's own");
    visit("max_polls", max_polls, 0, std::int64_t(1) << 60,
          "looks of a row for a value, with method sync_free, before one team solves the whole system");
  }
};

/// y = (I + N)^-1 S x for a strict triangle N and a diagonal matrix S, or S = I: the solve with a factor
/// D + N' of an incomplete factorisation, where N = D^-1 N' and S = D^-1. N may be of b x b blocks, and S
/// block-diagonal then.
///
/// Methods:
/// - `levels`: the rows by levels (see level_schedule), a launch a level; levels of little work next to each
///   other make one launch of one team. Where that launch has all levels, or a host has one or two threads
///   and launches of less than about 1 ms, one thread of the host has all rows in their own order, if N is
///   a triangle in it, with the same bits. Exact.
/// - `sync_free`: one launch. Teams take blocks of rows of one level by an atomic counter, so that all rows
///   that a row needs are held by teams that run; a row looks for their values until they are there. The
///   order of a row's sum depends only on the row. A bound on the looks (`max_polls`) ends the wait: one
///   team then solves all levels, with the same bits. Exact. On a host it is there for tests.
/// - `jacobi`: y_0 = S x, y_(k + 1) = S x - N y_k, `sweeps` times, each a product with N in any format. N is
///   nilpotent: the error is 0 after as many sweeps as there are levels less one, but may grow before; sweeps
///   beyond the number of rows are left out.
///   `numeric` tries the sweeps on a fixed vector: where the last one changes y by more than the first did,
///   or y is not finite, the solve is exact, as by `automatic`, and the report's notes say so.
///   An application never looks at changes: M stays one linear operator.
/// - `isai`: y = M S x with an approximate inverse M of I + N on the pattern of its power (see Isai).
/// - `host`: by levels on the host's execution space, where the levels are narrow and the host is near: the
///   factor is copied there once, and of an application x goes there and y comes back through pinned memory,
///   2 n numbers a vector, between two fences. Exact. On a host it is `levels`.
/// - `automatic`: on a host `levels`; on a device `sync_free`, or `levels` where they have 65536 rows and
///   more in the mean, which fill it.
///
/// Columns >= num_rows (of other ranks) are skipped. For real scalars.
///
/// By blocks there are `levels`, `sync_free`, `jacobi` and `isai` of power 1 (M has the blocks of N's
/// pattern), with the matrix's own precision; `automatic` is `sync_free` on any device. A lane group has a
/// block row: each lane has one row of its b x (b len) strip of entries, and some of its columns; their sums
/// are added in scratch. A thread of a host has a row. Where a host has one thread and N is a triangle in the
/// rows' own order, the exact methods have the rows in that order, without levels; `automatic` with two
/// threads too: one by this was faster than both by levels.
///
/// Cost: an application of nnz entries takes 2 nnz + 2 n operations a vector, with `jacobi` as many a sweep.
/// The exact methods also take as many steps as there are levels: by launches some 3 us each, on a device
/// without synchronisation some 1 us. Memory: N's pattern is shared with the caller, and so are the values of
/// `sync_free`, and of rows in their own order, with the matrix's own precision. `sync_free` also has 4 bytes
/// a row, and 4 an entry where rows are short; `levels` keeps a copy of N in the order of the levels, 8 bytes
/// an entry in addition to its value, `jacobi` the stored values, `isai` M. A workspace has one vector a
/// column, for `jacobi` two with S, for `sync_free` with long rows and for rows in their own order none. It
/// is for the method in use: numeric with another number of threads may need another one. By blocks the
/// operations are 2 b^2 a block, the values are shared by all methods but `isai`, and the workspaces are
/// those of long rows.
///
/// Entries of N or S that are not finite count as 0 and 1; entries beyond the range of `storage` are cut to
/// its largest number, those below become 0. The report counts them. Blocks have to be finite.
///
/// Source: Li, Saad, J. Supercomput. 63 (2013), section 5.1; Liu, Li, Hogg, Duff, Vinter, Euro-Par 2016;
/// Anzt, Chow, Dongarra, Euro-Par 2015 (sweeps); Ma, Hu, Yuan, Liu, Math. Probl. Eng. 2021, equations (10)
/// and (11) and algorithms 6 and 7 (blocks).
template <class Scalar, class Space>
class TriangularSolver {
 public:
  /// `owner`: whose solve it is, for messages. \throws OptionError for an option out of its range
  TriangularSolver(const std::string& owner, Triangle which, const TriangularOptions& options = {});

  /// Begins anew, with N's pattern, which is kept, of single rows or of rows of blocks. Finds the levels,
  /// where the method needs them. Fences. \throws InputError where N has fewer columns than rows, of blocks
  /// another number; for a block size above 32 \throws OptionError for a method or a storage that blocks do
  /// not have \pre sorted rows, of the strict triangle
  void symbolic(const Space& space, const CsrGraph<Space>& n, const BlockShape& blocks = {});
  /// The same by levels that the caller has found. \throws InputError where they are of another number of
  /// rows \pre they are those of N, or of a pattern that has N's entries: each row is of a later level than
  /// those that it needs
  void symbolic(const Space& space, const CsrGraph<Space>& n, const LevelSchedule<Space>& levels,
                const BlockShape& blocks = {});
  /// N's values, and S by its diagonal, or empty, blocks by columns; may be called again. They may be kept:
  /// \pre they do not change until the next call. Adds notes and breakdowns to the report. Fences. \throws
  /// std::logic_error before `symbolic` \throws InputError for another number of values than N has entries,
  /// or of scales than rows
  void numeric(const Space& space, const Vector<Scalar, Space>& values, const Vector<Scalar, Space>& scale,
               Report& report);

  /// Both of N and of `other`, for N^T and S': of method `isai`. The inverse of I + N^T is M^T, to the last
  /// bit, in any storage: the pattern is transposed by the first numeric after `symbolic`, the values by
  /// each. Memory: M is stored twice. \throws std::logic_error for another method \pre the other's pattern
  /// and values are N^T's
  void numeric_with_transpose(const Space& space, const Vector<Scalar, Space>& values,
                              const Vector<Scalar, Space>& scale, TriangularSolver& other,
                              const Vector<Scalar, Space>& other_values,
                              const Vector<Scalar, Space>& other_scale, Report& report);
  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const;
  /// y = (I + N)^-1 S x, or near it. No allocation; no fence, but for `host`. \throws std::logic_error before
  /// `numeric`, for a workspace made for fewer vectors or rows \throws InputError where the sizes do not fit
  /// \pre x and y share no memory
  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Workspace& workspace) const;

  /// Single rows.
  std::int64_t num_rows() const { return m_blocks.single_rows(m_graph.num_rows); }
  /// Bytes of its data in addition to N's pattern.
  std::int64_t bytes() const;
  double flops() const;  ///< of an application to one vector
  /// The one in use; the one asked for before `numeric`, or without rows.
  TriangularMethod method() const { return m_method; }
  int num_levels() const;           ///< 0 where the method needs none
  int sweeps() const;               ///< of an application by `jacobi`; 0 of the others
  std::string description() const;  ///< the method and the reason for it
  const TriangularOptions& options() const { return m_options; }

 private:
  using Order = impl::triangular::LevelOrder<Space>;
  using Solve = impl::triangular::Solve<Scalar, Space>;
  using Factor = impl::triangular::Factor<Scalar, Space>;

  Factor checked_factor(const Space& space, const Vector<Scalar, Space>& values,
                        const Vector<Scalar, Space>& scale, Report& report) const;
  void set_solve(const std::shared_ptr<const Solve>& solve, TriangularMethod method,
                 const std::shared_ptr<const Order>& order, const std::string& note, Report& report);
  bool needs_levels() const;
  void begin(const Space& space, const CsrGraph<Space>& n, const BlockShape& blocks,
             const LevelSchedule<Space>* levels);
  void check_shape(const CsrGraph<Space>& n, const BlockShape& blocks) const;
  TriangularMethod exact_method(const LevelSchedule<Space>& levels) const;
  std::shared_ptr<const Order> find_order(const Space& space, const CsrGraph<Space>& n,
                                          const BlockShape& blocks, const LevelSchedule<Space>* known) const;
  std::shared_ptr<const Solve> exact_solve(const Space& space, const Factor& factor,
                                           const std::shared_ptr<const Order>& order, Report& report) const;

  std::string m_owner;
  Triangle m_which;
  TriangularOptions m_options;
  CsrGraph<Space> m_graph;
  BlockShape m_blocks;
  bool m_has_graph = false;
  std::shared_ptr<const Order> m_order;  ///< by levels, where a method needed them
  std::shared_ptr<Isai<Scalar, Space>> m_isai;
  std::shared_ptr<impl::triangular::InversePatterns<Space>> m_inverse_patterns;  ///< with a transpose
  std::shared_ptr<const Solve> m_solve;                                          ///< of a numeric phase
  TriangularMethod m_method;
  std::string m_note;  ///< why sweeps are not done
};

}  // namespace prekond
