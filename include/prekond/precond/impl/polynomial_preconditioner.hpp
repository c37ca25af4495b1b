// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/distributed/impl/remote_part.hpp>
#include <prekond/precond/impl/polynomial.hpp>
#include <prekond/precond/impl/stored_matrix.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>
#include <prekond/precond/over_ranks.hpp>
#include <prekond/precond/setup_options.hpp>

#include <memory>
#include <string>
#include <vector>

namespace prekond {

/// What the polynomial is one of: D^-1 A with D = diag(A), or A.
enum class PolynomialScaling { diagonal, none };
/// Where the bounds of the spectrum come from that are not given.
enum class SpectrumBounds { lanczos, gershgorin };

/// What all polynomial preconditioners have to choose.
struct PolynomialSetup {
  int degree = 0;
  PolynomialScaling scaling = PolynomialScaling::diagonal;
  SpectrumBounds bounds = SpectrumBounds::lanczos;
  int lanczos_steps = 0;
  double lambda_min = 0;
  double lambda_max = 0;
  Storage storage = Storage::full;
  MatrixFormat storage_format = MatrixFormat::automatic;
};

/// What a caller has of a matrix already: multigrid of a level's.
template <class Scalar, class Space>
struct KnownMatrix {
  StoredMatrix<Scalar, Space> a;  ///< A, as it is going to be applied; or 0 x 0
  double lambda_max = 0;          ///< of D^-1 A, as if the option had it; 0: not known
};

/// M^-1 = p(B) D^-1 with a polynomial p and B = D^-1 A, D = diag(A) or a power of two times the identity.
///
/// The frame of `ls_polynomial`, `chebyshev` and `neumann`, which choose p from the spectrum of B. For a
/// Hermitian A M^-1 is Hermitian, as p(D^-1 A) D^-1 = D^-1/2 p(D^-1/2 A D^-1/2) D^-1/2; this form takes one
/// pass over a vector, D^-1 x, where the one with square roots takes two. It is positive definite where p is
/// positive on the spectrum.
///
/// An application: b = D^-1 x, and k steps y = product B y' + direct y' + previous y + source b, one product
/// each with the updates fused, whose last one writes into y. Cost: k (2 nnz + 6 n) + n operations and,
/// beside k products, 4 n numbers a step. Memory: a copy of A's own columns in the precision of `storage`
/// and the format of `storage_format`, 1 / d_i; a workspace has two vectors a column. In lower precisions A
/// itself is rounded, and D^-1 stands in the scales of the rows, so that M^-1 is as symmetric as A is.
///
/// Over ranks (see DistributedPreconditioner) it is the polynomial of the distributed matrix: the spectrum is
/// that of all rows, by Lanczos's method from the same first vector, or the bounds of all rows; a step is one
/// exchange of x's entries, and own columns are multiplied while it is under way. What one rank finds and
/// what several find differ by rounding. The entries in other ranks' columns are kept in full precision.
/// Memory beside that: these, and the imported entries of a vector a column. Set up as it is for a rank's own
/// rows, with columns of other ranks behind, these are left out: the polynomial is one of its own block.
///
/// Breakdown: a row with a_ii that is not positive and finite is scaled by its largest magnitude instead;
/// one with an entry that is not finite becomes a row of the identity times its largest finite magnitude
/// (1 where it has none). Both are counted. Where the
/// spectrum cannot be what p is made for (no positive Ritz value, or none at all), p = 1, which a note says.
template <class Scalar, class Space>
class PolynomialPreconditioner  // NOLINT(*class-destructor)
    : public MatrixPreconditioner<Scalar, Space>,
      public OverRanks<Scalar, Space> {
 public:
  using Base = MatrixPreconditioner<Scalar, Space>;
  using typename Base::matrix_source;
  using typename Base::matrix_view;
  using Real = real_type_t<Scalar>;
  using Distributed = DistributedMatrix<Scalar, Space>;

  /// Written in a source file, for the host.
  ~PolynomialPreconditioner() override;

  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override;

  void symbolic_over_ranks(const Space& space, const Distributed& a) override;
  /// \throws InputError where this rank has another number of rows or columns than symbolic_over_ranks saw
  void numeric_over_ranks(const Space& space, const Distributed& a) override;
  void apply_over_ranks(const Space& space, MultiVectorView<const Scalar, Space> x,
                        MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;

  /// For the next numeric phase alone, which is given the same A. A stored matrix is shared and applied as
  /// diag(1 / d_i) A where no row breaks down and A's numbers are of an ordinary size: then nothing of A is
  /// copied, and `storage` and `storage_format` are the stored matrix's. Otherwise a copy in full precision
  /// and the same format is. Over ranks it is not used. An eigenvalue is used where the options have none.
  void set_known(const KnownMatrix<Scalar, Space>& known) { m_known = known; }

  /// p, of the last numeric phase.
  const Polynomial& polynomial() const { return m_polynomial; }
  /// What it was made from.
  const Spectrum& spectrum() const { return m_spectrum; }

 protected:
  explicit PolynomialPreconditioner(const PolynomialSetup& setup) : m_setup(setup) {}

  /// p for the spectrum, of degree `setup.degree`. \pre 0 < spectrum.max < infinity; `notes` is where
  /// anything else is said
  virtual Polynomial make_polynomial(const Spectrum& spectrum, std::vector<std::string>& notes) const = 0;

  void symbolic_step(const Space& space, const matrix_source& source) override;
  void numeric_step(const Space& space, const matrix_source& source, Report& report) override;
  void numeric_without_rows(const Space& space, const matrix_source& source, Report& report) override;
  void apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                  MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;

 private:
  void find(const Space& space, const matrix_view& view, Report& report);
  void multiply(const Space& space, const RecurrenceStep<Scalar>& step,
                MultiVectorView<const Scalar, Space> x, MultiVectorView<const Scalar, Space> b,
                MultiVectorView<Scalar, Space> y, MultiVectorView<Scalar, Space> remote) const;

  PolynomialSetup m_setup;
  KnownMatrix<Scalar, Space> m_known;
  const Distributed* m_all_rows = nullptr;  ///< while a numeric phase over ranks goes on
  Polynomial m_polynomial;
  Spectrum m_spectrum;
  StoredMatrix<Scalar, Space> m_b;
  RemotePart<Scalar, Space> m_remote;                           ///< B in the columns of other ranks
  std::shared_ptr<const VectorImport<Scalar, Space>> m_import;  ///< null: for one rank, or its own block
  Vector<Real, Space> m_inverse_diagonal;
  int m_exponent = 0;  ///< e: B and D^-1 are those of 2^-e A, where A is out of the ordinary
};

/// What a polynomial preconditioner has beside its polynomial: its options, and what they say of it.
template <class Options, class Scalar, class Space>
class PolynomialMethod : public PolynomialPreconditioner<Scalar, Space> {
 public:
  using options_type = Options;

  /// \throws OptionError for options out of their ranges
  explicit PolynomialMethod(const Options& options = {})
      : PolynomialPreconditioner<Scalar, Space>(resolved(options).setup()), m_options(resolved(options)) {}
  /// Written in a source file, for the host.
  ~PolynomialMethod() override;

  std::string name() const override { return Options::name; }
  Properties properties() const override { return m_options.properties(); }
  const Options& options() const { return m_options; }

 protected:
  Options m_options;
};

namespace impl {

/// The fields that the options of all polynomial preconditioners have, and lambda_min of those that have it.
template <class Options, class Visitor>
void describe_polynomial(Options& options, Visitor& visit) {
  visit("scaling", options.scaling,
        {{"diagonal", PolynomialScaling::diagonal}, {"none", PolynomialScaling::none}},
        "the polynomial is one of D^-1 A with D = diag(A), or of A");
  visit("bounds", options.bounds,
        {{"lanczos", SpectrumBounds::lanczos}, {"gershgorin", SpectrumBounds::gershgorin}},
        "where the bounds of the spectrum come from that are not given; lanczos is for symmetric positive "
        "definite matrices");
  visit("lanczos_steps", options.lanczos_steps, 1, 1000, "Lanczos steps of the setup, a product each");
  if constexpr (requires { options.lambda_min; })
    visit("lambda_min", options.lambda_min, 0.0, 1e300,
          "a lower bound of the spectrum of D^-1 A (scaling none: of A); 0: see bounds");
  visit("lambda_max", options.lambda_max, 0.0, 1e300,
        "an upper bound of the spectrum of D^-1 A (scaling none: of A); 0: see bounds");
  visit("storage", options.storage, storage_choices(),
        "precision in which the matrix is kept and applied; full: the matrix's");
  describe_storage_format(visit, options.storage_format);
}

template <class Options>
PolynomialSetup polynomial_setup(const Options& options) {
  double lambda_min = 0;
  if constexpr (requires { options.lambda_min; }) lambda_min = options.lambda_min;
  return {options.degree, options.scaling,    options.bounds,  options.lanczos_steps,
          lambda_min,     options.lambda_max, options.storage, options.storage_format};
}

/// Lanczos's method needs a Hermitian positive definite matrix; with bounds from elsewhere others are
/// welcome.
template <class Options>
Properties polynomial_properties(const Options& options) {
  if (options.bounds == SpectrumBounds::gershgorin || options.lambda_max)
    return {.symmetry = Symmetry::unknown};
  return {.needs_spd = true, .symmetry = Symmetry::symmetric};
}

/// \throws OptionError for two that are given and are no interval
void check_bounds(const char* name, double lambda_min, double lambda_max);

}  // namespace impl
}  // namespace prekond
