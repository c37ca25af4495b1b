// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/preconditioner.hpp>
#include <prekond/distributed/distributed_matrix.hpp>
#include <prekond/matrix/matrix_source.hpp>

#include <cstdint>

namespace prekond {

/// A method whose setup and application are those of the distributed matrix itself, by products with it: a
/// MatrixPreconditioner derives from this too, and a DistributedPreconditioner then calls these members in
/// place of the phases for a rank's own rows.
///
/// All are collective. An error of one rank is thrown on all.
template <class Scalar, class Space>
class OverRanks {
 public:
  virtual ~OverRanks() = default;

  /// Is there a setup over the ranks of A, by the method's options? Else each rank sets up its own rows.
  virtual bool is_possible_over_ranks(const Space& /*space*/,
                                      const DistributedMatrix<Scalar, Space>& /*a*/) const {
    return true;
  }
  /// The facts known of this rank's own rows, the same kind of them on all ranks, for the next phases. Not
  /// collective.
  virtual void set_facts_of_own_rows(const NearNullSpace<Scalar, Space>& /*near*/) {}

  /// As MatrixPreconditioner's phases, whose report they fill with what is this rank's. A is not kept.
  virtual void symbolic_over_ranks(const Space& space, const DistributedMatrix<Scalar, Space>& a) = 0;
  /// \pre symbolic_over_ranks, of a matrix with the same rows and columns
  virtual void numeric_over_ranks(const Space& space, const DistributedMatrix<Scalar, Space>& a) = 0;

  /// y = M^-1 x for this rank's rows, which may be none: by all ranks, with as many vectors, one at least.
  /// The workspace is the method's own. One application at a time. \pre numeric_over_ranks; x and y share no
  /// memory
  virtual void apply_over_ranks(const Space& space, MultiVectorView<const Scalar, Space> x,
                                MultiVectorView<Scalar, Space> y, Workspace& workspace) const = 0;
};

/// A method that couples all rows, so that one for each rank's own rows would be another, weaker one: where
/// the whole matrix has few rows, every rank has all of them, and sets up and applies what one rank finds,
/// also where it could be set up over ranks. A MatrixPreconditioner derives from this too.
class GathersRows {
 public:
  virtual ~GathersRows() = default;
  /// The largest number of rows, of all ranks, that are gathered of a matrix that redistributes (see
  /// DistributedMatrix) or does not; 0: none are.
  virtual std::int64_t most_gathered_rows(bool redistributes) const = 0;
};

}  // namespace prekond
