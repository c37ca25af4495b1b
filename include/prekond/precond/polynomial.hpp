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

/// The polynomial p that approximates 1 / t on the spectrum. `first`, `fourth` and `fourth_optimized` are
/// Chebyshev's iteration with polynomials of that kind. See PolynomialPreconditioner for the formulas.
enum class PolynomialKind { least_squares, first, fourth, fourth_optimized, neumann };
/// The matrix B that p is applied to: D^-1 A with D = diag(A), or A.
enum class PolynomialScaling { diagonal, none };
/// The source of the bounds of the spectrum that the user does not give.
enum class SpectrumBounds { lanczos, gershgorin };

/// Parameters of the polynomial preconditioners.
struct PolynomialOptions {
  static constexpr const char* name = "polynomial";
  static constexpr const char* summary =
      "polynomial in D^-1 A: least squares, Chebyshev's iteration, or Neumann series (SPD)";
  static constexpr const char* paper =
      "Li, Saad, J. Supercomput. 63 (2013), section 5.4; Lottes, Numer. Linear Algebra Appl. 30 (2023)";

  static constexpr double default_ratio = 30;

  PolynomialKind kind = PolynomialKind::least_squares;
  int degree = 10;
  PolynomialScaling scaling = PolynomialScaling::diagonal;
  SpectrumBounds bounds = SpectrumBounds::lanczos;
  int lanczos_steps = 20;
  double lambda_min = 0;
  double lambda_max = 0;
  double eigenvalue_ratio = default_ratio;
  Storage storage = Storage::full;
  MatrixFormat storage_format = MatrixFormat::automatic;

  /// The options that the registry's aliases `chebyshev` and `neumann` set; `ls_polynomial` sets none.
  static OptionMap chebyshev_preset();
  static OptionMap neumann_preset();
  static PolynomialOptions chebyshev() { return with(chebyshev_preset()); }
  static PolynomialOptions neumann() { return with(neumann_preset()); }

  bool is_chebyshev() const {
    return kind != PolynomialKind::least_squares && kind != PolynomialKind::neumann;
  }
  /// The name that messages and reports give a polynomial of this kind: the one of its alias.
  const char* name_of_kind() const;

  /// \throws OptionError for an option that the kind does not use, and for bounds that are no interval
  void resolve() const;
  /// Lanczos's method needs a Hermitian positive definite matrix. With bounds from elsewhere other matrices
  /// are accepted.
  Properties properties() const {
    if (bounds == SpectrumBounds::gershgorin || lambda_max > 0) return {.symmetry = Symmetry::unknown};
    return {.needs_spd = true, .symmetry = Symmetry::symmetric};
  }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("kind", kind,
          {{"least_squares", PolynomialKind::least_squares},
           {"first", PolynomialKind::first},
           {"fourth", PolynomialKind::fourth},
           {"fourth_optimized", PolynomialKind::fourth_optimized},
           {"neumann", PolynomialKind::neumann}},
          "kind of polynomial: least_squares for CG; Chebyshev's first kind, and the fourth plain or with "
          "Lottes's optimal weights, for smoothers; neumann, whose damping is 1.5 / lambda_max, where that "
          "is known");
    visit("degree", degree, 0, 100,
          "degree k of the polynomial, the products with A in an application; raise it where products are "
          "cheap compared with reductions; least_squares needs 1 or more");
    visit("scaling", scaling, {{"diagonal", PolynomialScaling::diagonal}, {"none", PolynomialScaling::none}},
          "matrix that the polynomial is of: D^-1 A with D = diag(A), or A");
    visit("bounds", bounds,
          {{"lanczos", SpectrumBounds::lanczos}, {"gershgorin", SpectrumBounds::gershgorin}},
          "source of the bounds of the spectrum that are not given; lanczos needs a symmetric positive "
          "definite matrix");
    visit("lanczos_steps", lanczos_steps, 1, 1000,
          "Lanczos steps of the setup, a product each; raise it for an upper bound nearer to the largest "
          "eigenvalue");
    visit(
        "lambda_min", lambda_min, 0.0, 1e300,
        "lower bound of the spectrum of D^-1 A (with scaling none, of A), for kinds least_squares and first; "
        "0 takes it from bounds");
    visit("lambda_max", lambda_max, 0.0, 1e300,
          "upper bound of the spectrum of D^-1 A (with scaling none, of A); 0 takes it from bounds");
    visit(
        "eigenvalue_ratio", eigenvalue_ratio, 1.0001, 1e16,
        "ratio of the interval's ends for kind first where lambda_min is not given; lower it for a smoother "
        "of fewer modes");
    visit("storage", storage, storage_choices(),
          "precision in which the matrix is kept and applied; full is the matrix's own");
    describe_storage_format(visit, storage_format);
  }

 private:
  static PolynomialOptions with(const OptionMap& preset);
};

/// Knowledge of a matrix that a caller has already, as multigrid has of a level's.
template <class Scalar, class Space>
struct KnownMatrix {
  StoredMatrix<Scalar, Space> a;  ///< A as it is going to be applied, or 0 x 0
  double lambda_max = 0;          ///< of D^-1 A, as if the option had it; 0 where it is not known
};

/// The preconditioner M^-1 = p(B) D^-1 with a polynomial p of degree k that is near 1 / t on the spectrum of
/// B = D^-1 A, D = diag(A) or a power of two times the identity.
///
/// For a Hermitian A M^-1 is Hermitian, as p(D^-1 A) D^-1 = D^-1/2 p(D^-1/2 A D^-1/2) D^-1/2; this form takes
/// one pass over a vector, D^-1 x, where the one with square roots takes two. M^-1 is positive definite where
/// p is positive on the spectrum.
///
/// Kinds, by the residual polynomial r(t) = 1 - t p(t) of degree k + 1:
/// - `least_squares` minimises || r ||_w with w(t) = 1 / sqrt((t - l)(u - t)) on an interval [l, u]. Li and
///   Saad's Stieltjes procedure finds it for phi = 1 with S_0 = t. It has a closed form, the kernel
///   polynomial, whose coefficients in the Chebyshev polynomials of [l, u] are sums of positive terms: they
///   are exact to rounding for any degree, and below l too. |r| < 1 for 0 < t < l + u, and for even k for all
///   t > 0. For odd k and an eigenvalue above l + u M^-1 may be indefinite, and CG then ends as
///   `breakdown_preconditioner_not_spd`.
/// - `first`: r(t) = T(x(t)) / T(x(0)) with [l, u] mapped to [-1, 1], which has the least maximum on [l, u].
/// - `fourth`: r(t) = W(1 - 2 t / u) / (2 k + 3) with W = sin((k + 3/2) phi) / sin(phi / 2), which has the
///   least maximum of sqrt(t) |r(t)| on [0, u], the bound of a V-cycle with one step of smoothing.
/// - `fourth_optimized`: the sum of the steps of `fourth` with weights beta_j that minimise the maximum of
///   t r^2 / (1 - r^2), the bound of V-cycles with any number of steps. The symbolic phase computes the
///   weights by Newton's method on the equioscillation. Where that does not converge the kind is `fourth`,
///   and a note says so.
/// - `neumann`: p(t) = sum_(j <= k) (1 - omega t)^j omega, k + 1 steps of damped Jacobi from zero, with
///   r(t) = (1 - omega t)^(k + 1). M^-1 is positive definite where 0 < omega t < 2, and for even k for every
///   t > 0. omega = 1.5 / lambda_max brings the eigenvalues of M^-1 A closer together than 1 / lambda_max,
///   and allows for eigenvalues up to 4/3 of the estimate.
///
/// The interval, where it is not given. u is a bound of the spectrum for all kinds: the least upper end of
/// Gershgorin's discs and, with Lanczos's method, of LanczosResult::upper_bound, which holds but for one
/// first vector of 1000. (The paper's safeguard, the largest Ritz value plus its residual bound |beta s_k|,
/// is within that of an eigenvalue, which need not be the largest.)
/// - `least_squares`: l is the smallest Ritz value less its bound where that bound is below a tenth of it,
///   else the smaller of the Ritz value and f u / (k + 1)^2: a polynomial of degree k resolves nothing below
///   that, and a larger l costs iterations.
/// - `first`: l is lambda_min, or the largest Ritz value (or u, where there is none) over `eigenvalue_ratio`,
///   at most 0.9 u. Ifpack2's u is 1.1 times its estimate, and it counts one degree more.
/// - For matrices that are not symmetric but have a positive real spectrum, give lambda_max or bounds =
///   gershgorin; the solvers for general matrices then accept them.
///
/// Application: b = D^-1 x, and k steps y = product B y' + direct y' + previous y + source b, one product
/// each with the updates fused. The last step writes into y.
///
/// Cost: k (2 nnz + 6 n) + n operations and, in addition to k products, 4 n numbers a step.
/// Memory: a copy of A's own columns in the precision of `storage` and the format of `storage_format`, and
/// 1 / d_i; a workspace has two vectors a column. In lower precisions A itself is rounded and D^-1 is kept in
/// the scales of the rows, so that M^-1 is as symmetric as A is.
///
/// Over ranks (see DistributedPreconditioner) the polynomial is that of the distributed matrix. The spectrum
/// is that of all rows, by Lanczos's method from the same first vector, or the bounds of all rows. A step is
/// one exchange of x's entries, and own columns are multiplied while it is under way. The results of one rank
/// and of several differ by rounding. The entries in other ranks' columns are kept in full precision. The
/// memory grows by these entries and by the imported entries of a vector a column. Where the setup is that of
/// a rank's own rows, columns of other ranks are left out: the polynomial is one of the rank's own block.
///
/// Breakdown: a row with a_ii that is not positive and finite is scaled by its largest magnitude instead. A
/// row with an entry that is not finite becomes a row of the identity times its largest finite magnitude (1
/// where it has none). Both are counted. Where the spectrum cannot be that of a matrix that p is made for (no
/// positive Ritz value, or none at all), p = 1, and a note says so.
///
/// Source: Li, Saad, J. Supercomput. 63 (2013), section 5.4, algorithms 3 and 4; Erhel, Guyomarc'h, Saad,
/// report umsi-2001-32 (2001); Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., algorithm 12.1 and
/// section 12.3.1; Lottes, Numer. Linear Algebra Appl. 30 (2023), e2518.
template <class Scalar, class Space>
class PolynomialPreconditioner : public MatrixPreconditioner<Scalar, Space>, public OverRanks<Scalar, Space> {
 public:
  using options_type = PolynomialOptions;
  using Base = MatrixPreconditioner<Scalar, Space>;
  using typename Base::matrix_source;
  using typename Base::matrix_view;
  using Real = real_type_t<Scalar>;
  using Distributed = DistributedMatrix<Scalar, Space>;

  /// \throws OptionError for options out of their ranges
  explicit PolynomialPreconditioner(const PolynomialOptions& options = {}) : m_options(resolved(options)) {}
  /// Defined in a source file, for the host.
  ~PolynomialPreconditioner() override;

  std::string name() const override { return m_options.name_of_kind(); }
  Properties properties() const override { return m_options.properties(); }
  const PolynomialOptions& options() const { return m_options; }
  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override;

  void symbolic_over_ranks(const Space& space, const Distributed& a) override;
  /// \throws InputError where this rank has another number of rows or columns than symbolic_over_ranks saw
  void numeric_over_ranks(const Space& space, const Distributed& a) override;
  void apply_over_ranks(const Space& space, MultiVectorView<const Scalar, Space> x,
                        MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;

  /// Sets what the next numeric phase, which is given the same A, need not find out; later ones forget it. A
  /// stored matrix is shared and applied as diag(1 / d_i) A where no row breaks down and A's numbers are of
  /// an ordinary size: nothing of A is copied then, and `storage` and `storage_format` are the stored
  /// matrix's. Otherwise A is copied in full precision and the same format. Over ranks a stored matrix is not
  /// used. An eigenvalue is used where the options have none.
  void set_known(const KnownMatrix<Scalar, Space>& known) { m_known = known; }

  /// p, of the last numeric phase.
  const Polynomial& polynomial() const { return m_polynomial; }
  /// The spectrum that p was made for.
  const Spectrum& spectrum() const { return m_spectrum; }

 protected:
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

  PolynomialOptions m_options;
  KnownMatrix<Scalar, Space> m_known;
  const Distributed* m_all_rows = nullptr;  ///< during a numeric phase over ranks
  std::vector<double> m_weights;            ///< of kind fourth_optimized; empty where they were not found
  Polynomial m_polynomial;
  Spectrum m_spectrum;
  StoredMatrix<Scalar, Space> m_b;
  RemotePart<Scalar, Space> m_remote;                           ///< B in the columns of other ranks
  std::shared_ptr<const VectorImport<Scalar, Space>> m_import;  ///< null for one rank, or its own block
  Vector<Real, Space> m_inverse_diagonal;
  int m_exponent = 0;  ///< e: B and D^-1 are those of 2^-e A, where A's range is not an ordinary one
};

}  // namespace prekond
