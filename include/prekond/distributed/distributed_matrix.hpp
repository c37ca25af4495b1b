// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/operator.hpp>
#include <prekond/core/reducer.hpp>
#include <prekond/core/views.hpp>
#include <prekond/distributed/remote_rows.hpp>
#include <prekond/distributed/vector_import.hpp>
#include <prekond/matrix/bcsr_matrix.hpp>
#include <prekond/matrix/csr_matrix.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>

namespace prekond {

/// A square matrix whose rows are distributed over ranks, as one rank sees it: what setups and products need
/// of the other ranks. Each row is one rank's; its global number, which columns share, is unique. Adapters
/// derive from it, one for each library that sends the messages.
///
/// Members marked "collective" are called by all ranks, in the same order. The object is for one thread at a
/// time.
template <class Scalar, class Space>
class DistributedMatrix {
 public:
  using scalar_type = Scalar;
  using execution_space = Space;

  virtual ~DistributedMatrix() = default;

  /// This rank's rows.
  virtual std::int64_t num_rows() const = 0;
  /// Columns of this rank's rows: its own num_rows(), and those of other ranks in which it has entries.
  virtual std::int64_t num_cols() const = 0;
  /// The rows of all ranks.
  virtual std::int64_t num_global_rows() const = 0;

  /// This rank's rows, num_rows() x num_cols(), sorted: the first num_rows() columns are its own. They stay
  /// as long as the object; whether they see new values is up to the class.
  virtual CsrView<Scalar, Space> own_rows() const = 0;

  /// b: 1, or that of a matrix which the class has by dense b x b blocks, the same on all ranks. Then b rows
  /// b i, b i + 1, ... of a rank are those of a block, their global numbers are b g, b g + 1, ..., and so it
  /// is with columns; own_rows() are made of the blocks when they are asked for first.
  virtual int block_size() const { return 1; }
  /// The same rows by blocks, the rank's own block columns first. They stay as own_rows() do. \pre
  /// block_size() is above 1
  virtual BcsrView<Scalar, Space> own_blocks() const { return {}; }
  /// Collective. remote_rows by blocks: `global` and the columns are numbers g of blocks, and an entry is a
  /// block, in the order of own_blocks(). \pre block_size() is above 1 \throws InputError as make_import does
  virtual RemoteRows<Scalar, Space> remote_blocks(const Space& /*space*/,
                                                  VectorView<const std::int64_t, Space> /*global*/) const {
    throw std::logic_error("this matrix is not one by blocks");
  }

  /// The global number of a local column, and of a local row, for messages. \pre 0 <= column < num_cols()
  virtual std::int64_t global_number(std::int64_t column) const = 0;
  /// The global numbers of all num_cols() local columns, for kernels; made anew at each call.
  virtual Vector<const std::int64_t, Space> global_numbers(const Space& space) const = 0;

  /// y = A x on the ranks' own rows, which its `row_numbers` numbers as global_numbers() does. Its `apply` is
  /// collective: one message a neighbour for all columns of x.
  virtual const Operator<Scalar, Space>& product() const = 0;
  /// Sums over all ranks; its `sum` is collective.
  virtual const Reducer<Scalar, Space>& reducer() const = 0;

  /// Vectors over the rank's num_rows() rows become vectors over its num_cols() columns.
  virtual const VectorImport<Scalar, Space>& column_import() const = 0;

  /// Collective. The same for another choice of rows of other ranks, whose entries follow the rank's
  /// own in the order of `global`.
  ///
  /// \throws InputError on all ranks where a rank asks for a row of its own, one that there is not, or one
  /// twice
  virtual std::unique_ptr<const VectorImport<Scalar, Space>> make_import(
      const Space& space, VectorView<const std::int64_t, Space> global) const = 0;

  /// Collective. Copies of rows of other ranks, in the order of `global`, with the values that they have now.
  /// A rank that needs none gives an empty list. \throws InputError as make_import does
  virtual RemoteRows<Scalar, Space> remote_rows(const Space& space,
                                                VectorView<const std::int64_t, Space> global) const = 0;

  /// Collective. Exchanges of rows for a choice of rows of other ranks, of any matrices whose rows are
  /// distributed as this one's. \throws InputError as make_import does
  virtual std::unique_ptr<const RowExchange<Scalar, Space>> make_row_exchange(
      const Space& space, VectorView<const std::int64_t, Space> global) const = 0;

  /// Collective. Each rank does the work, in which it talks to no other. Where it throws on any, all throw
  /// that of the lowest rank; a row that it names (InputError::row) is a local one.
  virtual void together(const std::function<void()>& work) const = 0;
  /// Collective. The largest of the ranks' values.
  virtual double largest(double value) const = 0;

  /// Can the class distribute other rows, see `with_rows` and `sum_before`? Methods that make coarser
  /// matrices over ranks need it.
  virtual bool redistributes() const { return false; }
  /// Collective. A matrix without entries, of the rows `own` on this rank. On all ranks together they are all
  /// numbers from 0 on, each once, and those of each rank ascend; a class may need them to ascend from rank
  /// to rank. It may outlive this one. \throws std::logic_error where the class cannot
  virtual std::unique_ptr<const DistributedMatrix> with_rows(
      const Space& /*space*/, VectorView<const std::int64_t, Space> /*own*/) const {
    throw std::logic_error("this matrix cannot distribute other rows");
  }
  /// Collective. The sum of what the ranks before this one give. \throws std::logic_error likewise
  virtual std::int64_t sum_before(std::int64_t /*mine*/) const {
    throw std::logic_error("this matrix cannot distribute other rows");
  }

  /// Collective. Hands out a vector that rank 0 has whole, entry i that of global number i: `own` gets the
  /// entries of this rank's rows. `whole` has num_global_rows() entries on rank 0 and is not looked at
  /// elsewhere. \pre global numbers are 0, ..., num_global_rows() - 1
  virtual void scatter(const Space& space, VectorView<const Scalar, Space> whole,
                       VectorView<Scalar, Space> own) const = 0;

  /// Collective. The reverse: all ranks' entries on rank 0; `whole` is as in `scatter`.
  virtual void gather(const Space& space, VectorView<const Scalar, Space> own,
                      VectorView<Scalar, Space> whole) const = 0;
};

}  // namespace prekond
