// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/pattern/coloring.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>
#include <prekond/precond/setup_options.hpp>

#include <memory>
#include <string>
#include <vector>

namespace prekond {

namespace impl::sweeps {
template <class Space>
struct GroupedTriangles;
template <class Scalar, class Space>
struct Factors;
template <class Scalar, class Space>
class GroupedSweeps;
struct HalfSweep;
}  // namespace impl::sweeps

/// Options of all multicolour preconditioners: the colouring, and the storage of the triangles.
struct MulticolorOptions {
  ColoringOrder order = ColoringOrder::natural;
  double sparsify = 0;
  Storage storage = Storage::full;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("order", order, coloring_orders(),
          "order of the rows in the greedy colouring: by index, most neighbours first, or random");
    visit(
        "sparsify", sparsify, 0.0, 1.0,
        "threshold theta of a sparsified colouring: rows with many neighbours ignore entries below theta "
        "times their largest one, which the preconditioner drops where both rows then have one colour, and "
        "colours are numbered by the mean number of entries of their rows, fewest first; raise it for fewer "
        "colours; 0 keeps all entries");
    visit("storage", storage, storage_choices(),
          "precision in which the triangles are kept and applied, scaled to a unit diagonal; full is the "
          "matrix's own");
  }
};

/// The base of the multicolour preconditioners. It has A's rows and columns in the order of the colours,
///
///   P A P^T = L + D + U,
///
/// by colours strictly lower, diagonal and strictly upper. The rows of a colour do not depend on each other,
/// so that a triangular solve is one product a colour, with the rows of L or of U. Colours are those of
/// A + A^T; columns >= num_rows (of other ranks) are skipped.
///
/// A copy of the matrix is kept, scaled from both sides to the unit diagonal, sign(a_ii) / sqrt|a_ii| and
/// 1 / sqrt|a_jj|: the diagonal need not be read, and of an SPD matrix all entries fit into every `storage`,
/// L and U being transposes of each other to the last bit where A is its own. Entries beyond the range of
/// `storage` are cut to its largest number, those below become 0; the report's notes count both. Sums are
/// those of the vectors' precision.
///
/// With sparsified colouring rows of one colour may be connected: these entries are left out of D, which the
/// report notes. Such colours depend on the values, and are found by the first `numeric`, others by
/// `symbolic`; later numeric phases keep both.
///
/// An application is one launch a colour; colours next to each other that are small make one launch of one
/// team. The first pass over a colour gathers the vector, the last one scatters the result. A host's result
/// has the same bits for any number of threads, and each column of several has those of a single one.
///
/// Memory: L and U by rows, with a number of 4 bytes an entry of where it comes from; 2 numbers of 4 bytes
/// and one value a row. A workspace has one vector a column or two.
///
/// Breakdown: a row whose diagonal entry is zero, missing or not finite gets its largest entry instead;
/// entries that are not finite when scaled count as 0. Both are counted.
template <class Scalar, class Space>
class Multicolor : public MatrixPreconditioner<Scalar, Space> {  // NOLINT(*class-destructor)
 public:
  using Method = MatrixPreconditioner<Scalar, Space>;
  using typename Method::matrix_source;
  using typename Method::matrix_view;

  ~Multicolor() override;

  /// Sets colours of the user's, such as another library's (see coloring_of), in place of those by the
  /// options. They are shared, not copied, and kept in their order. They take effect with the next
  /// `symbolic`, which throws InputError where their number is not that of the rows, or the sizes of their
  /// parts do not fit. Entries between rows of one colour are left out.
  void set_coloring(const Coloring<Space>& coloring) { m_given = coloring; }
  /// The colouring in use; one of no rows before there is one.
  const Coloring<Space>& coloring() const { return m_coloring; }
  /// The number of colours without sparsification.
  int num_colors_before() const { return m_num_colors_before; }
  /// The number of entries between rows of one colour.
  std::int64_t entries_within_colors() const;

  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override;

 protected:
  explicit Multicolor(const MulticolorOptions& options) : m_options(options) {}

  /// Whether a numeric phase was given rows.
  bool has_values() const { return m_sweeps != nullptr; }

  void symbolic_step(const Space& space, const matrix_source& source) override;
  void numeric_step(const Space& space, const matrix_source& source, Report& report) override;
  void numeric_without_rows(const Space& space, const matrix_source& source, Report& report) override;
  void apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                  MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;

  using Pattern = impl::sweeps::GroupedTriangles<Space>;
  using Factors = impl::sweeps::Factors<Scalar, Space>;

  /// The triangles' values. `report` gets the counts.
  virtual Factors find_factors(const Space& space, const matrix_view& a, const Pattern& pattern,
                               Report& report) const = 0;
  /// The half sweeps of an application, in turn.
  virtual std::vector<impl::sweeps::HalfSweep> half_sweeps() const = 0;
  /// The method for messages, where it needs a symmetric pattern; else nothing.
  virtual std::string needs_symmetric_pattern() const { return {}; }

 private:
  struct Colored;
  Colored color(const Space& space, const matrix_view& a, const Coloring<Space>& user) const;

  MulticolorOptions m_options;
  Coloring<Space> m_given;     ///< by set_coloring, for the next symbolic
  Coloring<Space> m_user;      ///< of the last symbolic
  Coloring<Space> m_coloring;  ///< in use
  int m_num_colors_before = 0;
  std::shared_ptr<const Pattern> m_pattern;                                    ///< null: numeric finds it
  std::shared_ptr<const impl::sweeps::GroupedSweeps<Scalar, Space>> m_sweeps;  ///< of a numeric phase
};

}  // namespace prekond
