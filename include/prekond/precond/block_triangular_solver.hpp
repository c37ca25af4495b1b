// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/preconditioner.hpp>
#include <prekond/core/report.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/pattern/level_schedule.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace prekond {

namespace impl {
template <class Space>
struct RowSchedule;
namespace block_triangular {
template <class Scalar, class Space>
struct Factor;
}  // namespace block_triangular
}  // namespace impl

/// The method that solves a system with a triangular matrix of blocks, see BlockTriangularSolver.
enum class BlockTriangularMethod { automatic, levels, sync_free, jacobi };

inline std::vector<std::pair<std::string, BlockTriangularMethod>> block_triangular_methods() {
  return {{"auto", BlockTriangularMethod::automatic},
          {"levels", BlockTriangularMethod::levels},
          {"sync_free", BlockTriangularMethod::sync_free},
          {"jacobi", BlockTriangularMethod::jacobi}};
}

/// Parameters of a block triangular solve.
struct BlockTriangularOptions {
  BlockTriangularMethod method = BlockTriangularMethod::automatic;
  int sweeps = 3;
  double tolerance = 0;
  std::int64_t max_polls = std::int64_t(1) << 24;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit(
        "method", method, block_triangular_methods(),
        "solver of the system: levels takes a launch a level; sync_free takes one launch, where a row waits "
        "for the rows that it needs; jacobi approximates the solution by sweeps; auto is levels on a host "
        "and sync_free on a device");
    visit(
        "sweeps", sweeps, 0, 1000000,
        "sweeps of method jacobi; more of them are nearer to the exact solution, which one sweep fewer than "
        "there are levels reaches");
    visit(
        "tolerance", tolerance, 0.0, 1.0,
        "relative change at which the sweeps of method jacobi end: numeric takes the fewest sweeps, up to "
        "`sweeps`, of which the last changes a fixed vector by at most this part of the first one's change; "
        "0 takes all `sweeps`");
    visit("max_polls", max_polls, 0, std::int64_t(1) << 60,
          "looks of a row for a value, with method sync_free, before one team solves the whole system");
  }
};

/// The solve y = (I + N)^-1 S x for a strict triangle N of b x b blocks and a block-diagonal S, or S = I: the
/// solve with a factor D + N' of an incomplete block factorisation, where N = D^-1 N' and S = D^-1. Rows
/// scaled so by blocks have a unit diagonal, and what the sweeps below iterate with is what the unscaled
/// factor's would be.
///
/// Methods:
/// - `levels`: block rows by levels (see level_schedule), a launch a level; levels of little work next to
///   each other make one launch of one team. Exact.
/// - `sync_free`: one launch. Teams take chunks of rows of one level by an atomic counter, so that all rows
///   that a row needs are held by teams that run; a row looks for their values until they are there. A bound
///   on the looks (`max_polls`) ends the wait: one team then solves all levels. Exact, with the same bits as
///   `levels`. On a host it is there for tests.
/// - `jacobi`: y_0 = S x, y_(k + 1) = S x - N y_k, `sweeps` times, each a product with N by blocks. N is
///   nilpotent: the error is 0 after as many sweeps as there are levels less one, but may grow before.
///   `numeric` tries the sweeps on a fixed vector: where the last one changes y by more than the first did,
///   or y is not finite, the solve is exact, as by `automatic`, and the report's notes say so. With
///   `tolerance` > 0 numeric fixes their number too, as TriangularSolver does.
/// - `automatic`: on a host `levels`, on a device `sync_free`.
///
/// A lane group has a block row: each lane has one row of its b x (b len) strip of entries, and some of its
/// columns; their sums are added in scratch. A thread of a host has a row. Where a host has one thread and N
/// is a triangle in the rows' own order, both exact methods have the rows in that order, without levels.
/// `automatic` does so with two threads too: one by this was faster than both by levels.
///
/// Cost: an application of k blocks of b x b in n block rows takes 2 b^2 (k + n) operations a vector, for
/// sweeps as many a sweep, and reads the values once, or once a sweep. The exact methods take as many steps
/// as there are levels. Memory: the caller's pattern and values are shared; 4 bytes a row for levels, 12 a
/// row for sweeps. A workspace has two vectors a column for sweeps, else none.
///
/// Source: Ma, Hu, Yuan, Liu, Math. Probl. Eng. 2021, equations (10) and (11) and algorithms 6 and 7 (sweeps,
/// lanes); Li, Saad, J. Supercomput. 63 (2013), section 5.1; Liu, Li, Hogg, Duff, Vinter, Euro-Par 2016.
template <class Scalar, class Space>
class BlockTriangularSolver {
 public:
  /// `owner`: whose solve it is, for messages. \throws OptionError for an option out of its range
  BlockTriangularSolver(const std::string& owner, Triangle which, const BlockTriangularOptions& options = {});

  /// Begins anew, with the pattern of N by blocks of b x b, which is kept; the last block row has `padding`
  /// rows less. Finds the levels, where the method needs them. Fences. \throws InputError where the pattern
  /// is not square, or for a block size that is not from 1 to 32 \pre sorted rows, of the strict triangle
  void symbolic(const Space& space, const CsrGraph<Space>& n, int block_size, int padding = 0);
  /// The same by levels that the caller has found. \throws InputError where they are of another number of
  /// rows \pre each row is of a later level than those that it needs
  void symbolic(const Space& space, const CsrGraph<Space>& n, int block_size, int padding,
                const LevelSchedule<Space>& levels);
  /// N's values, blocks by columns, and S's blocks, likewise, or empty; may be called again. They are kept:
  /// \pre they are finite, and do not change until the next call. Adds notes to the report. Fences. \throws
  /// std::logic_error before `symbolic` \throws InputError for other numbers of values than the pattern has
  void numeric(const Space& space, const Vector<Scalar, Space>& values, const Vector<Scalar, Space>& scale,
               Report& report);

  /// \throws std::logic_error before `numeric`
  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const;
  /// y = (I + N)^-1 S x, or near it. No allocation, no fence. \throws std::logic_error before `numeric`, for
  /// a workspace made for fewer vectors or rows \throws InputError where the sizes do not fit \pre x and y
  /// share no memory
  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Workspace& workspace) const;

  std::int64_t num_rows() const;                             ///< single rows
  std::int64_t bytes() const;                                ///< of its data in addition to N and S
  double flops() const;                                      ///< of an application to one vector
  BlockTriangularMethod method() const { return m_method; }  ///< in use; before `numeric` the one asked for
  int num_levels() const;                                    ///< 0 where the method needs none
  int sweeps() const;                                        ///< of an application; 0 of exact methods
  std::string description() const;                           ///< the method and the reason for it

 private:
  using Factor = impl::block_triangular::Factor<Scalar, Space>;
  using Schedule = impl::RowSchedule<Space>;

  bool is_exact(BlockTriangularMethod method) const { return method != BlockTriangularMethod::jacobi; }
  void begin(const Space& space, const CsrGraph<Space>& n, int block_size, int padding,
             const LevelSchedule<Space>* levels);
  std::shared_ptr<const Schedule> find_schedule(const Space& space, const Factor& factor,
                                                const LevelSchedule<Space>* levels) const;
  void sweep(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Workspace& workspace) const;

  std::string m_owner;
  Triangle m_which;
  BlockTriangularOptions m_options;
  std::shared_ptr<const Factor> m_factor;  ///< with values after a numeric phase
  std::shared_ptr<const Schedule> m_schedule;
  BlockTriangularMethod m_method;
  std::string m_note;  ///< why sweeps are not done
};

}  // namespace prekond
