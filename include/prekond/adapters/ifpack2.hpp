// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Prekond's preconditioners as Ifpack2's. Needs the target prekond::trilinos.
#include <prekond/adapters/impl/apply_to_tpetra.hpp>
#include <prekond/adapters/impl/ifpack2_near_null_space.hpp>
#include <prekond/adapters/impl/parameter_list.hpp>
#include <prekond/adapters/tpetra.hpp>
#include <prekond/adapters/tpetra_distributed.hpp>
#include <prekond/core/impl/left_out.hpp>
#include <prekond/precond/distributed_preconditioner.hpp>
#include <prekond/precond/registry.hpp>

#include <Ifpack2_Details_AdditiveSchwarzFilter_decl.hpp>
#include <Ifpack2_Details_CanChangeMatrix.hpp>
#include <Ifpack2_Preconditioner.hpp>
#include <Teuchos_Describable.hpp>

#include <cctype>
#include <memory>
#include <stdexcept>

namespace prekond::ifpack2 {

/// Options of the adapter itself, given together with those of the algorithm.
struct AdapterOptions : DistributedOptions {
  bool check_input = true;

  /// By default each rank acts on its own, as Ifpack2's methods do.
  AdapterOptions() { rank_overlap = 0; }

  template <class Visitor>
  void describe(Visitor& visit) {
    DistributedOptions::describe(visit);
    visit("check_input", check_input,
          "where the algorithm needs a symmetric matrix with a positive diagonal: check that each rank's own "
          "part is one, in "
          "every compute (an algorithm may refuse a diagonal by itself)");
  }
};

/// Any registered preconditioner ("auto", "amg", "jacobi", ...: `prekond list preconditioners`) as an
/// Ifpack2::Preconditioner, for Belos, Ifpack2::AdditiveSchwarz and all that takes one.
///
/// On several ranks each acts on its own rows and columns (block Jacobi over the ranks); what lies in other
/// columns is left out and counted. With `rank_overlap` = -1 multigrid (amg) has one hierarchy over all
/// ranks, the inverses by rows of a CrsMatrix (fsai, nonsymmetric_fsai, spai, isai) and the polynomials
/// (chebyshev, ls_polynomial, neumann) are those that one rank would find (a note of the report says where
/// that would be another one), and with a number above 0 other methods are restricted additive Schwarz, see
/// DistributedPreconditioner: `apply` is collective then. `initialize` looks at the pattern, `compute` at the
/// values; both are collective, and where a rank fails all throw. A CrsMatrix with Tpetra's own column map is
/// not copied, nor are the blocks of a BlockCrsMatrix; anything else is, and the report says so. After a
/// change of A's values `apply` goes on with the old ones until `compute` is called again. `reuse`, where an
/// algorithm has it, is `none` here by default: every `compute` is a fresh one.
///
/// `apply` is not collective by default, and allocates nothing once it was called with as many vectors since
/// the last `compute` (where they do not lie at one stride, Tpetra allocates two flags a vector for its
/// views). Two threads must not apply the same object at once. Times are wall seconds; those of `apply` are
/// of its launch on a device.
template <class RowMatrix>
class Preconditioner
    : virtual public Ifpack2::Preconditioner<
          typename RowMatrix::scalar_type, typename RowMatrix::local_ordinal_type,
          typename RowMatrix::global_ordinal_type, typename RowMatrix::node_type>,
      virtual public Ifpack2::Details::CanChangeMatrix<
          Tpetra::RowMatrix<typename RowMatrix::scalar_type, typename RowMatrix::local_ordinal_type,
                            typename RowMatrix::global_ordinal_type, typename RowMatrix::node_type>> {
 public:
  using scalar_type = typename RowMatrix::scalar_type;
  using local_ordinal_type = typename RowMatrix::local_ordinal_type;
  using global_ordinal_type = typename RowMatrix::global_ordinal_type;
  using node_type = typename RowMatrix::node_type;
  using space_type = typename node_type::execution_space;
  using row_matrix_type = Tpetra::RowMatrix<scalar_type, local_ordinal_type, global_ordinal_type, node_type>;
  using multivector_type =
      Tpetra::MultiVector<scalar_type, local_ordinal_type, global_ordinal_type, node_type>;
  using map_type = Tpetra::Map<local_ordinal_type, global_ordinal_type, node_type>;
  using preconditioner_type = MatrixPreconditioner<scalar_type, space_type>;
  static_assert(std::is_same_v<scalar_type, double> || std::is_same_v<scalar_type, float>,
                "prekond is compiled for double and float");
  static_assert(std::is_same_v<space_type, Kokkos::DefaultExecutionSpace> ||
                    std::is_same_v<space_type, Kokkos::DefaultHostExecutionSpace>,
                "prekond is compiled for Kokkos's default execution space and the host's");

  /// `matrix` may be null: then `setMatrix` gives it. \throws OptionError for a name that is not registered
  explicit Preconditioner(const std::string& name, Teuchos::RCP<const row_matrix_type> matrix = Teuchos::null)
      : m_name(
            find_registered(preconditioner_registry<scalar_type, space_type>(), name, "preconditioner").name),
        m_configurator(
            find_registered(preconditioner_registry<scalar_type, space_type>(), m_name, "preconditioner")
                .configure()),
        m_matrix(std::move(matrix)) {
    for (const OptionField& field : m_configurator->fields().list())
      if (field.name == "reuse") m_configurator->fields().set({{"reuse", std::string("none")}}, m_name);
  }

  // ------------------------------------------------------------------------------------------------------
  // parameters

  /// Sets the options that the list names and leaves the others as they are. They take effect with the next
  /// `compute`, which initialises again; until then `apply` goes on as before.
  ///
  /// Two parameters are no options, but what is known of the matrix, by the names that MueLu has for them:
  /// "Nullspace", a Teuchos::RCP<multivector_type> of vectors over the row map that the matrix nearly
  /// annihilates, and "Coordinates", one of nodes x 2 or 3, whose rigid body modes are such vectors: a node's
  /// displacements are then its unknowns. Where both are given the first is taken. A null pointer is none.
  /// `amg` looks at them; what is kept are the pointers. \throws
  /// Teuchos::Exceptions::InvalidParameter for an unknown key (it names the nearest one), a wrong type or a
  /// value out of range; nothing is changed then
  void setParameters(const Teuchos::ParameterList& list) override {
    Teuchos::ParameterList options(list);
    parameters_type vectors = m_vectors;
    vectors.take_from(options);
    tpetra::set_options(fields(*m_configurator), m_name, options);
    m_vectors = vectors;
    if (list.numParams() > 0) m_initialized = false;
  }

  /// All options, with the values in force (those of a new object: the defaults), documentation and ranges.
  Teuchos::RCP<const Teuchos::ParameterList> getValidParameters() const {
    const auto in_force = configurator_in_force();
    auto list = tpetra::valid_parameters(fields(*in_force), m_name);
    m_vectors.add_to(list);
    return Teuchos::rcp(new Teuchos::ParameterList(list));
  }

  // ------------------------------------------------------------------------------------------------------
  // the matrix

  Teuchos::RCP<const row_matrix_type> getMatrix() const override { return m_matrix; }

  void setMatrix(const Teuchos::RCP<const row_matrix_type>& matrix) override {
    if (matrix.getRawPtr() == m_matrix.getRawPtr()) return;
    m_matrix = matrix;
    m_initialized = m_computed = false;
    forget();
    m_report = {};
  }

  Teuchos::RCP<const map_type> getDomainMap() const override { return matrix("getDomainMap").getDomainMap(); }
  Teuchos::RCP<const map_type> getRangeMap() const override { return matrix("getRangeMap").getRangeMap(); }

  // ------------------------------------------------------------------------------------------------------
  // the phases

  /// Collective. \throws InputError on all ranks for a matrix that is not fill-complete, whose row map is
  /// overlapping, or whose domain or range map is another map
  void initialize() override {
    const auto a = readable("initialize");
    const Kokkos::Timer timer;
    m_initialized = m_computed = false;
    tpetra::check_distribution(*a);
    forget();  // its memory is free before the next one needs as much
    m_report = {};
    if (initialize_across(*a)) return;
    auto fresh = m_configurator->build();
    on_all_ranks([&] {
      const local_matrix_type local(m_space, *a);
      const near_null_space_type near = m_vectors.of(m_space, local.num_rows());
      fresh->symbolic(m_space, near.source(local.source()));
      m_report.foreign_columns = local.foreign_columns();
      m_report.foreign_entries = local.foreign_entries(m_space);
    });
    m_preconditioner = std::move(fresh);
    m_initialized = true;
    ++m_num_initialize;
    m_initialize_seconds += timer.seconds();
  }
  bool isInitialized() const override { return m_initialized; }

  /// Collective. Initialises first where that was not done, or options have changed since. \throws InputError
  /// on all ranks for a matrix that the algorithm refuses on one of them; then there is nothing to apply, and
  /// the next `compute` initialises again
  void compute() override {
    const auto a = readable("compute");
    m_computed = false;
    if (m_initialized)
      tpetra::check_distribution(*a);  // the matrix may have been opened and completed anew since
    else
      initialize();
    const Kokkos::Timer timer;
    m_application = {};
    m_initialized = false;  // where a rank fails, the next compute starts anew on all
    if (m_across)
      compute_across(*a);
    else
      compute_own_rows(*a);
    m_initialized = m_computed = true;
    ++m_num_compute;
    m_compute_seconds += timer.seconds();
    m_compute_flops += m_report.numeric_flops;
  }
  bool isComputed() const override { return m_computed; }

  /// Y = alpha M^-1 X + beta Y for X of getRangeMap() x k, Y of getDomainMap() x k; with beta = 0, Y is not
  /// read. X and Y may be the same. The transposed modes are those of M^-1. \throws std::runtime_error before
  /// compute \throws std::invalid_argument where the sizes do not fit, or the algorithm cannot apply its
  /// transpose; as nothing is communicated, only on this rank
  void apply(const multivector_type& x, multivector_type& y, Teuchos::ETransp mode = Teuchos::NO_TRANS,
             scalar_type alpha = scalar_type(1), scalar_type beta = scalar_type(0)) const override {
    if (!m_computed)
      throw std::runtime_error(m_name + ": apply was called before compute (or after a compute that failed)");
    const Kokkos::Timer timer;
    m_application(m_space, applied(), x, y, mode, alpha, beta);
    ++m_num_apply;
    m_apply_seconds += timer.seconds();
    m_apply_flops += m_report.apply_flops * static_cast<double>(x.getNumVectors());
  }
  bool hasTransposeApply() const override {
    return (m_preconditioner || m_across) && applied().is_symmetric();
  }

  // ------------------------------------------------------------------------------------------------------
  // what happened

  int getNumInitialize() const override { return m_num_initialize; }
  int getNumCompute() const override { return m_num_compute; }
  int getNumApply() const override { return m_num_apply; }
  double getInitializeTime() const override { return m_initialize_seconds; }
  double getComputeTime() const override { return m_compute_seconds; }
  double getApplyTime() const override { return m_apply_seconds; }
  /// Floating-point operations of this rank, of all calls together. `initialize` has none.
  double getInitializeFlops() const { return 0; }
  double getComputeFlops() const { return m_compute_flops; }
  double getApplyFlops() const { return m_apply_flops; }
  /// Entries that this rank stores and an application reads, the name that multigrid codes ask by.
  std::size_t getNodeSmootherComplexity() const { return static_cast<std::size_t>(m_report.nnz); }

  const std::string& name() const { return m_name; }

  /// The report of the phases on this rank.
  const Report& report() const { return m_report; }

  /// Collective: what they did on all ranks. Rows of breakdowns are global.
  Report global_report() const {
    const row_matrix_type& a = matrix("global_report");
    const auto row = static_cast<local_ordinal_type>(m_report.breakdowns.first_row);
    const std::int64_t global =
        row >= 0 ? static_cast<std::int64_t>(a.getRangeMap()->getGlobalElement(row)) : -1;
    return tpetra::merged_report(*a.getComm(), m_report, global);
  }

  /// The preconditioner for Prekond's own solvers, on this rank's part of vectors. \throws std::runtime_error
  /// before compute
  const prekond::Preconditioner<scalar_type, space_type>& local() const {
    if (!m_computed) throw std::runtime_error(m_name + ": there is nothing to apply before compute");
    return applied();
  }

  std::string description() const override {
    std::string text = "\"prekond::ifpack2::Preconditioner\": {Name: " + m_name;
    text += std::string(", Initialized: ") + (m_initialized ? "true" : "false");
    text += std::string(", Computed: ") + (m_computed ? "true" : "false");
    if (m_matrix.is_null()) return text + ", Matrix: null}";
    if (!m_matrix->isFillComplete()) return text + ", Matrix: not fill-complete}";
    const std::string rows = std::to_string(m_matrix->getGlobalNumRows());
    return text + ", Global matrix dimensions: [" + rows + ", " +
           std::to_string(m_matrix->getGlobalNumCols()) + "]}";
  }

  /// Collective, from VERB_LOW on: rank 0 prints options, counters and the report of all ranks.
  void describe(Teuchos::FancyOStream& out, const Teuchos::EVerbosityLevel level =
                                                Teuchos::Describable::verbLevel_default) const override {
    if (level == Teuchos::VERB_NONE) return;
    const Teuchos::OSTab tab(out);
    const bool first = m_matrix.is_null() || m_matrix->getComm()->getRank() == 0;
    const std::string one_line = description();
    if (first) out << one_line << "\n";
    if (m_matrix.is_null() || level == Teuchos::VERB_DEFAULT) return;
    const Report all = global_report();
    if (first) print(out, all);
  }

 private:
  using filter_type = Ifpack2::Details::AdditiveSchwarzFilter<row_matrix_type>;
  using local_matrix_type =
      tpetra::LocalMatrix<scalar_type, local_ordinal_type, global_ordinal_type, node_type>;

  using configurator_type = Configurator<preconditioner_type>;
  using parameters_type = impl::NearNullSpaceParameters<multivector_type>;
  using near_null_space_type = typename parameters_type::near_null_space_type;

  /// One whose options that depend on others have their values; as it is where options do not go together.
  std::shared_ptr<configurator_type> configurator_in_force() const {
    try {
      return m_configurator->resolved();
    } catch (const OptionError&) {
      return m_configurator;
    }
  }

  OptionFields fields(configurator_type& configurator) const {
    OptionFields all = configurator.fields();
    all.append(OptionFields::of(m_adapter_options));
    return all;
  }

  using distributed_type =
      tpetra::DistributedCrsMatrix<scalar_type, local_ordinal_type, global_ordinal_type, node_type>;
  using across_type = DistributedPreconditioner<scalar_type, space_type>;
  using crs_matrix_type = Tpetra::CrsMatrix<scalar_type, local_ordinal_type, global_ordinal_type, node_type>;

  const prekond::Preconditioner<scalar_type, space_type>& applied() const {
    if (m_across) return *m_across;
    return *m_preconditioner;
  }

  /// Collective. For one phase: while it lives the matrix's values are on the device.
  std::unique_ptr<distributed_type> distributed(const row_matrix_type& a) const {
    return std::make_unique<distributed_type>(m_space, Teuchos::rcpFromRef(a));
  }

  /// Collective. \returns false where each rank is to act on its own
  bool initialize_across(const row_matrix_type& a) {
    const bool is_taken = dynamic_cast<const crs_matrix_type*>(&a) != nullptr ||
                          dynamic_cast<const typename local_matrix_type::block_matrix_type*>(&a) != nullptr;
    m_note_of_ranks.clear();
    if (!is_taken || a.getComm()->getSize() == 1) return false;
    if (m_adapter_options.rank_overlap == 0) {
      DistributedOptions over_ranks = m_adapter_options;
      over_ranks.rank_overlap = -1;
      if (across_type(*m_configurator, over_ranks).is_over_ranks())
        m_note_of_ranks =
            "each rank has a preconditioner of its own rows; with rank_overlap = -1 they have one together, "
            "as far as its options allow";
      return false;
    }
    const Kokkos::Timer timer;
    auto across = std::make_unique<across_type>(*m_configurator, m_adapter_options);
    if (!across->is_over_ranks()) return false;
    near_null_space_type near;
    on_all_ranks([&] { near = m_vectors.of(m_space, local_rows(a)); });
    across->set_near_null_space(near);
    across->symbolic(m_space, *distributed(a));
    m_across = std::move(across);
    m_initialized = true;
    ++m_num_initialize;
    m_initialize_seconds += timer.seconds();
    return true;
  }

  /// The row map of a BlockCrsMatrix counts blocks, the range map rows; elsewhere they are the same.
  static std::int64_t local_rows(const row_matrix_type& a) {
    return static_cast<std::int64_t>(a.getRangeMap()->getLocalNumElements());
  }

  template <class Rows>
  void check_own_rows(const Rows& rows) const {
    if (m_configurator->properties().needs_spd && m_adapter_options.check_input)
      check_local_spd_input<scalar_type, space_type>(m_space, rows());
  }

  void compute_across(const row_matrix_type& a) {
    const auto matrix = distributed(a);
    near_null_space_type near;
    on_all_ranks([&] {
      check_own_rows([&] { return matrix->own_rows(); });
      near = m_vectors.of(m_space, local_rows(a));
    });
    m_across->set_near_null_space(near);
    m_across->numeric(m_space, *matrix);
    m_report = m_across->report();
    if (!matrix->rows().copied().empty()) m_report.notes.push_back(matrix->rows().copied());
  }

  void compute_own_rows(const row_matrix_type& a) {
    std::string copied;
    on_all_ranks([&] {
      const local_matrix_type local(m_space, a);
      check_own_rows([&] { return local.view(); });
      const near_null_space_type near = m_vectors.of(m_space, local.num_rows());
      m_preconditioner->numeric(m_space, near.source(local.source()));
      copied = local.copied();
    });
    finish_report(copied);
  }

  void forget() {
    m_preconditioner = nullptr;
    m_across = nullptr;
    m_application = {};
  }

  const row_matrix_type& matrix(const char* what) const {
    if (m_matrix.is_null())
      throw std::runtime_error(m_name + ": " + what + " was called without a matrix: call setMatrix first");
    return *m_matrix;
  }

  /// The matrix that the phases read. The filter that AdditiveSchwarz hands over has a CrsMatrix inside,
  /// which is on the device; the filter itself could only be read row by row on the host.
  Teuchos::RCP<const row_matrix_type> readable(const char* what) const {
    const auto* filter = dynamic_cast<const filter_type*>(&matrix(what));
    if (!filter) return m_matrix;
    return filter->getFilteredMatrix();
  }

  /// That filter's own communicator has one rank only; AdditiveSchwarz calls the phases on all ranks of the
  /// matrix inside it.
  template <class Work>
  void on_all_ranks(Work&& work) {
    const auto* filter = dynamic_cast<const filter_type*>(m_matrix.get());
    const auto ranks = filter ? filter->getGraph()->getComm() : m_matrix->getComm();
    tpetra::together(*ranks, std::forward<Work>(work), [this, filter](std::int64_t row) -> std::string {
      const auto rows = m_matrix->getRangeMap();
      if (rows->getLocalNumElements() == 0) return "which has no rows";
      if (row < 0) return "";
      if (filter) return "whose rows are counted in its subdomain";
      return "its row " + std::to_string(row + 1) + " has the global index " +
             std::to_string(rows->getGlobalElement(static_cast<local_ordinal_type>(row)));
    });
  }

  void finish_report(const std::string& copied) {
    const std::int64_t columns = m_report.foreign_columns, entries = m_report.foreign_entries;
    m_report = m_preconditioner->report();
    m_report.foreign_columns = columns;
    m_report.foreign_entries = entries;
    for (const std::string& note : {copied, m_note_of_ranks})
      if (!note.empty()) m_report.notes.push_back(note);
  }

  void print(Teuchos::FancyOStream& out, const Report& all) const {
    const Teuchos::OSTab tab(out);
    const auto in_force = configurator_in_force();
    for (const OptionField& field : fields(*in_force).list())
      out << field.name << ": " << to_string(field.get()) << "\n";
    m_vectors.print_to(out);
    out << "initialize: " << m_num_initialize << " times, " << m_initialize_seconds << " s\n";
    out << "compute: " << m_num_compute << " times, " << m_compute_seconds << " s, " << m_compute_flops
        << " flops on this rank\n";
    out << "apply: " << m_num_apply << " times, " << m_apply_seconds << " s, " << m_apply_flops
        << " flops on this rank\n";
    if (!m_computed) {
      out << "nothing is computed\n";
      return;
    }
    out << "all ranks: " << all.nnz << " entries, " << all.bytes << " bytes; the last compute took "
        << all.symbolic_seconds + all.numeric_seconds << " s\n";
    if (const std::string text = left_out(all); !text.empty()) out << text << "\n";
    if (all.breakdowns.count > 0)
      out << "breakdowns: " << all.breakdowns.count << " rows; the first has the global index "
          << all.breakdowns.first_row << ", pivot " << all.breakdowns.first_pivot << ": "
          << all.breakdowns.action << "\n";
    for (const auto& note : all.notes) out << "note: " << note << "\n";
  }

  std::string m_name;
  std::shared_ptr<Configurator<preconditioner_type>> m_configurator;
  mutable AdapterOptions m_adapter_options;  // mutable: option fields are bound to what they may set
  parameters_type m_vectors;
  Teuchos::RCP<const row_matrix_type> m_matrix;
  space_type m_space;
  std::unique_ptr<preconditioner_type> m_preconditioner;  ///< where each rank acts on its own
  std::unique_ptr<across_type> m_across;
  Report m_report;
  std::string m_note_of_ranks;  ///< where each rank acts on its own
  bool m_initialized = false;
  bool m_computed = false;
  int m_num_initialize = 0;
  int m_num_compute = 0;
  double m_initialize_seconds = 0;
  double m_compute_seconds = 0;
  double m_compute_flops = 0;

  // Ifpack2's const apply has to keep memory for as many vectors as it was applied to at once, and its
  // counters.
  mutable tpetra::impl::Application<scalar_type, space_type> m_application;
  mutable int m_num_apply = 0;
  mutable double m_apply_seconds = 0;
  mutable double m_apply_flops = 0;
};

/// A preconditioner by name, as Ifpack2::Factory::create gives one: case does not matter. Also with a null
/// matrix, for Ifpack2::AdditiveSchwarz, which sets its own. \throws OptionError for a name that is not
/// registered; it names the nearest one
template <class MatrixType>
auto create(const std::string& name, const Teuchos::RCP<const MatrixType>& matrix) {
  std::string lower;
  for (const char c : name) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  using RowMatrix =
      Tpetra::RowMatrix<typename MatrixType::scalar_type, typename MatrixType::local_ordinal_type,
                        typename MatrixType::global_ordinal_type, typename MatrixType::node_type>;
  return Teuchos::rcp(new Preconditioner<RowMatrix>(lower, matrix));
}

template <class MatrixType>
auto create(const std::string& name, const Teuchos::RCP<MatrixType>& matrix) {
  return create<MatrixType>(name, Teuchos::RCP<const MatrixType>(matrix));
}

}  // namespace prekond::ifpack2
