// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/krylov/lanczos.hpp>
#include <prekond/matrix/filter_entries.hpp>
#include <prekond/matrix/impl/own_columns.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/polynomial_preconditioner.hpp>

#include "core/row_teams.hpp"
#include "instantiate.hpp"
#include "precond/polynomial/row_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <type_traits>

namespace prekond {
namespace impl::polynomial {

template <class Scalar, class Space>
struct PolynomialWorkspace : Workspace {
  MultiVector<Scalar, Space> scaled;  ///< D^-1 x
  MultiVector<Scalar, Space> other;   ///< takes turns with y
};

/// y = L A R x with diagonal matrices L and R, R = I where it is empty, for Lanczos's method. With L = R =
/// D^-1/2 it has the spectrum of D^-1 A and is of ordinary size whatever A's is.
template <class Scalar, class Space>
class ScaledOperator : public Operator<Scalar, Space> {
 public:
  using Real = real_type_t<Scalar>;
  ScaledOperator(const Space& space, const CsrView<Scalar, Space>& a, VectorView<const Real, Space> left,
                 VectorView<const Real, Space> right)
      : m_a(a),
        m_left(left),
        m_right(right),
        m_scaled(allocate<Vector<Scalar, Space>>(space, "prekond::polynomial::scaled", right.extent(0))) {}

  std::int64_t num_rows() const override { return m_a.num_rows; }
  std::int64_t num_cols() const override { return m_a.num_rows; }
  /// \pre one vector, alpha = 1 and beta = 0, as Lanczos's method has it
  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Scalar /*alpha*/, Scalar /*beta*/) const override {
    MultiVectorView<const Scalar, Space> from = x;
    if (m_right.extent(0) > 0) {
      scale(space, m_right, x, as_multivector(m_scaled));
      from = as_multivector(VectorView<const Scalar, Space>(m_scaled));
    }
    spmv<Scalar, Space>(space, Scalar(1), m_a, from, Scalar(0), y);
    scale(space, m_left, y, y);
  }

 private:
  static void scale(const Space& space, VectorView<const Real, Space> diagonal,
                    MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y) {
    Kokkos::parallel_for("prekond::polynomial::numeric::apply_diagonal",
                         Kokkos::RangePolicy<Space>(space, 0, y.extent(0)),
                         ApplyDiagonal<Scalar, Space>{diagonal, x, y, 1});
  }

  CsrView<Scalar, Space> m_a;
  VectorView<const Real, Space> m_left, m_right;
  Vector<Scalar, Space> m_scaled;
};

template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> copy_of(const Space& space,
                                                                          const CsrView<Scalar, Space>& a) {
  const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> result(
      a.num_rows, a.num_cols,
      allocate<Vector<std::size_t, Space>>(space, "prekond::polynomial::row_ptrs", a.num_rows + 1),
      allocate<Vector<int, Space>>(space, "prekond::polynomial::col_idxs", a.nnz()),
      allocate<Vector<Scalar, Space>>(space, "prekond::polynomial::values", a.nnz()));
  Kokkos::deep_copy(space, result.row_ptrs, a.row_ptrs);
  Kokkos::deep_copy(space, result.col_idxs, a.col_idxs);
  Kokkos::deep_copy(space, result.values, a.values);
  return result;
}

inline std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return text;
}

/// Is the precision of `storage` A's own?
template <class Scalar>
bool is_full(Storage storage) {
  return storage == Storage::full ||
         (storage == Storage::single_precision && std::is_same_v<real_type_t<Scalar>, float>);
}

}  // namespace impl::polynomial

template <class Scalar, class Space>
struct PolynomialPreconditioner<Scalar, Space>::Rows {
  Vector<Real, Space> diagonal, reach;
  Vector<Real, Space> inverse;  ///< 1 / d_i
  int exponent = 0;             ///< e: what is said here is said of 2^-e A
  int unit_exponent = 0;        ///< without scaling by the diagonal: B = 2^unit_exponent A
};

template <class Scalar, class Space>
PolynomialPreconditioner<Scalar, Space>::~PolynomialPreconditioner() = default;

template <class Scalar, class Space>
void PolynomialPreconditioner<Scalar, Space>::symbolic_step(const Space&, const matrix_source&) {
  m_b = {};
  m_inverse_diagonal = {};
}

template <class Scalar, class Space>
int PolynomialPreconditioner<Scalar, Space>::bring_to_range(const Space& space, const Matrix& a,
                                                            const Rows& rows) const {
  namespace kernels = impl::polynomial;
  Real least = 0, most = 0;
  Kokkos::parallel_reduce(
      "prekond::polynomial::numeric::range_of_reach", Kokkos::RangePolicy<Space>(space, 0, a.num_rows),
      kernels::RangeOfReach<Real, Space>{rows.reach}, Kokkos::Min<Real>(least), Kokkos::Max<Real>(most));
  constexpr int ordinary = std::numeric_limits<Real>::max_exponent / 16;
  if (!(most > 0)) return 0;
  // Even, so that roots are rounded as those of A.
  const int exponent = (std::ilogb(least) + std::ilogb(most)) / 4 * 2;
  if (std::abs(exponent) <= ordinary) return 0;
  constexpr int possible = std::numeric_limits<Real>::max_exponent - 2;
  const int taken = std::clamp(exponent, -possible, possible);
  const Real factor = std::ldexp(Real(1), -taken);
  const auto multiply = [&](const auto& x) {
    using T = typename std::decay_t<decltype(x)>::non_const_value_type;
    Kokkos::parallel_for("prekond::polynomial::numeric::bring_to_range",
                         Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(
                             space, 0, static_cast<std::int64_t>(x.extent(0))),
                         kernels::TimesFactor<T, Space>{x, factor});
  };
  multiply(a.values);
  multiply(rows.diagonal);
  multiply(rows.reach);
  return taken;
}

template <class Scalar, class Space>
auto PolynomialPreconditioner<Scalar, Space>::measure_rows(const Space& space, const Matrix& a,
                                                           Report& report) const -> Rows {
  namespace kernels = impl::polynomial;
  const auto vector = [&](const char* label) {
    return allocate<Vector<Real, Space>>(space, label, a.num_rows);
  };
  Rows rows{vector("prekond::polynomial::diagonal"), vector("prekond::polynomial::reach"),
            vector("prekond::polynomial::inverse_diagonal")};
  Kokkos::parallel_for("prekond::polynomial::numeric::measure_rows",
                       impl::RowTeams<Space>::policy(space, a.num_rows, a.nnz()),
                       kernels::MeasureRows<Scalar, Space>{a, a.values, rows.diagonal, rows.reach});
  rows.exponent = bring_to_range(space, a, rows);
  const Kokkos::RangePolicy<Space> range(space, 0, a.num_rows);
  std::int64_t first = 0, count = 0;
  if (m_setup.scaling == PolynomialScaling::diagonal) {
    Kokkos::parallel_reduce("prekond::polynomial::numeric::invert_diagonal", range,
                            kernels::InvertDiagonal<Real, Space>{rows.diagonal, rows.reach, rows.inverse},
                            Kokkos::Min<std::int64_t>(first), Kokkos::Sum<std::int64_t>(count));
  } else {
    Real largest = 0;
    Kokkos::parallel_reduce("prekond::polynomial::numeric::count_replaced", range,
                            kernels::CountReplaced<Real, Space>{rows.reach}, Kokkos::Min<std::int64_t>(first),
                            Kokkos::Sum<std::int64_t>(count), Kokkos::Max<Real>(largest));
    // A power of two, so that the polynomial is one of ordinary numbers.
    const bool usable = largest > 0 && std::isfinite(largest) && std::isfinite(1 / largest);
    const int exponent = usable ? std::ilogb(largest) : 0;
    Kokkos::deep_copy(space, rows.inverse, std::ldexp(Real(1), -exponent));
    rows.unit_exponent = -exponent - rows.exponent;
  }
  report.breakdowns.count = count;
  if (count == 0) return rows;
  report.breakdowns.first_row = first;
  Real pivot = 0, sum = 0;
  Kokkos::deep_copy(space, pivot, Kokkos::subview(rows.diagonal, first));
  Kokkos::deep_copy(space, sum, Kokkos::subview(rows.reach, first));
  space.fence("prekond::polynomial::breakdowns");
  report.breakdowns.first_pivot = sum > 0 ? static_cast<double>(pivot / sum) : 0;
  report.breakdowns.action =
      "rows without a positive diagonal entry are scaled by their largest magnitude, rows with an entry that "
      "is not finite are replaced by rows of a multiple of the identity";
  return rows;
}

template <class Scalar, class Space>
Spectrum PolynomialPreconditioner<Scalar, Space>::by_lanczos(const Space& space, const Matrix& a,
                                                             const Rows& rows, Report& report) const {
  Vector<Real, Space> root;
  if (m_setup.scaling == PolynomialScaling::diagonal) {
    root = allocate<Vector<Real, Space>>(space, "prekond::polynomial::root", a.num_rows);
    Kokkos::parallel_for("prekond::polynomial::numeric::roots",
                         Kokkos::RangePolicy<Space>(space, 0, a.num_rows),
                         impl::polynomial::Roots<Real, Space>{rows.inverse, root});
  }
  const impl::polynomial::ScaledOperator<Scalar, Space> scaled(
      space, a, root.extent(0) > 0 ? root : rows.inverse, root);
  const LanczosResult result =
      lanczos<Scalar, Space>(space, scaled, nullptr, {.steps = m_setup.lanczos_steps});
  Spectrum spectrum;
  spectrum.exponent = rows.unit_exponent;
  spectrum.min = result.smallest.value;
  spectrum.min_bound = result.smallest.bound;
  spectrum.max = result.largest.value;
  spectrum.max_bound = result.largest.bound;
  spectrum.source = std::to_string(result.steps) + " Lanczos steps";
  if (result.steps > 0 && result.smallest.value <= 0)
    report.notes.push_back(this->name() +
                           ": the matrix is not positive definite: Lanczos found the Ritz value " +
                           impl::polynomial::number_text(spectrum.as_given(result.smallest.value)));
  return spectrum;
}

template <class Scalar, class Space>
Spectrum PolynomialPreconditioner<Scalar, Space>::find_spectrum(const Space& space, const Matrix& a,
                                                                const Rows& rows, Report& report) const {
  Spectrum spectrum;
  spectrum.exponent = rows.unit_exponent;
  spectrum.min_bound = std::numeric_limits<double>::infinity();
  if (!(m_setup.lambda_max > 0) && m_setup.bounds == SpectrumBounds::lanczos) {
    spectrum = by_lanczos(space, a, rows, report);
  } else if (!(m_setup.lambda_max > 0)) {
    const auto vector = [&](const char* label) {
      return allocate<Vector<Real, Space>>(space, label, a.num_rows);
    };
    const auto low = vector("prekond::polynomial::low"), high = vector("prekond::polynomial::high");
    Kokkos::parallel_for("prekond::polynomial::numeric::gershgorin",
                         impl::RowTeams<Space>::policy(space, a.num_rows, a.nnz()),
                         impl::polynomial::GershgorinDiscs<Scalar, Space>{a, rows.inverse, low, high});
    Real least = 0, most = 0;
    Kokkos::parallel_reduce("prekond::polynomial::numeric::range_of_discs",
                            Kokkos::RangePolicy<Space>(space, 0, a.num_rows),
                            impl::polynomial::RangeOfDiscs<Real, Space>{low, high}, Kokkos::Min<Real>(least),
                            Kokkos::Max<Real>(most));
    spectrum.min = static_cast<double>(least);
    spectrum.min_bound = least > 0 ? 0 : spectrum.min_bound;
    spectrum.max = static_cast<double>(most);
    spectrum.source = "Gershgorin's discs";
  }
  if (m_setup.lambda_max > 0) {
    spectrum.max = std::ldexp(m_setup.lambda_max, rows.unit_exponent);
    spectrum.max_bound = 0;
    spectrum.max_given = true;
    spectrum.source = "lambda_max";
  }
  if (m_setup.lambda_min > 0) {
    spectrum.min = std::ldexp(m_setup.lambda_min, rows.unit_exponent);
    spectrum.min_bound = 0;
    spectrum.min_given = true;
    spectrum.source += std::string(spectrum.max_given ? " and" : ",") + " lambda_min";
  }
  return spectrum;
}

template <class Scalar, class Space>
void PolynomialPreconditioner<Scalar, Space>::numeric_step(const Space& space, const matrix_source& source,
                                                           Report& report) {
  namespace kernels = impl::polynomial;
  const matrix_view& view = source.csr();
  const Matrix own = view.num_cols > view.num_rows
                         ? filter_entries<Scalar, Space>(space, view, impl::IsOwnColumn<Scalar, Space>{view})
                         : kernels::copy_of<Scalar, Space>(space, view);
  const Matrix a(view.num_rows, view.num_rows, own.row_ptrs, own.col_idxs, own.values);
  const Rows rows = measure_rows(space, a, report);
  const Spectrum spectrum = find_spectrum(space, a, rows, report);
  Polynomial polynomial;
  const bool bounded = spectrum.max > 0 && std::isfinite(spectrum.max) && std::isfinite(spectrum.max_bound);
  if (bounded && !std::isnan(spectrum.min)) {
    polynomial = make_polynomial(spectrum, report.notes);
  } else {
    polynomial.constant = 1;
    report.notes.push_back(this->name() + ": no positive upper bound of the spectrum was found (" +
                           kernels::number_text(spectrum.as_given(spectrum.max)) + ", " + spectrum.source +
                           "); the polynomial is 1: what is left is the diagonal");
  }
  StoredMatrix<Scalar, Space> b;
  if (kernels::is_full<Scalar>(m_setup.storage)) {
    Kokkos::parallel_for("prekond::polynomial::numeric::scale_rows",
                         impl::RowTeams<Space>::policy(space, a.num_rows, a.nnz()),
                         kernels::ScaleRows<Scalar, Space>{a.num_rows, a.row_ptrs, a.values, rows.inverse});
    b = StoredMatrix<Scalar, Space>(space, a, {Storage::full, m_setup.storage_format});
  } else {
    b = StoredMatrix<Scalar, Space>(space, a, {m_setup.storage, m_setup.storage_format});
    b.multiply_rows(space, rows.inverse);
  }
  m_b = b;
  m_inverse_diagonal = rows.inverse;
  m_polynomial = polynomial;
  m_spectrum = spectrum;
  m_exponent = rows.exponent;
  const double n = static_cast<double>(a.num_rows), k = polynomial.degree();
  report.nnz = a.nnz();
  report.bytes = m_b.bytes() + static_cast<std::int64_t>(m_inverse_diagonal.span() * sizeof(Real));
  report.apply_flops = flops_of_scalar<Scalar> * (n + k * (2 * static_cast<double>(a.nnz()) + 6 * n));
}

template <class Scalar, class Space>
void PolynomialPreconditioner<Scalar, Space>::numeric_without_rows(const Space&, const matrix_source&,
                                                                   Report&) {
  m_b = {};
  m_inverse_diagonal = {};
  m_polynomial = {};
  m_spectrum = {};
}

template <class Scalar, class Space>
std::unique_ptr<Workspace> PolynomialPreconditioner<Scalar, Space>::make_workspace(const Space& space,
                                                                                   int num_vectors) const {
  using Vectors = MultiVector<Scalar, Space>;
  auto workspace = std::make_unique<impl::polynomial::PolynomialWorkspace<Scalar, Space>>();
  const int degree = m_setup.degree;  // p's, which a later numeric phase may have where this one has 1
  workspace->scaled = allocate<Vectors>(space, "prekond::polynomial::apply::scaled", this->num_rows(),
                                        degree > 0 ? num_vectors : 0);
  workspace->other = allocate<Vectors>(space, "prekond::polynomial::apply::other", this->num_rows(),
                                       degree > 1 ? num_vectors : 0);
  return workspace;
}

template <class Scalar, class Space>
void PolynomialPreconditioner<Scalar, Space>::apply_step(const Space& space,
                                                         MultiVectorView<const Scalar, Space> x,
                                                         MultiVectorView<Scalar, Space> y,
                                                         Workspace& workspace) const {
  namespace kernels = impl::polynomial;
  const Kokkos::RangePolicy<Space> rows(space, 0, m_inverse_diagonal.extent(0));
  const int degree = m_polynomial.degree();
  if (degree == 0) {
    Kokkos::parallel_for(
        "prekond::polynomial::apply::scale", rows,
        kernels::ApplyDiagonal<Scalar, Space>{
            m_inverse_diagonal, x, y, static_cast<Real>(std::ldexp(m_polynomial.constant, -m_exponent))});
    return;
  }
  const auto& own = static_cast<kernels::PolynomialWorkspace<Scalar, Space>&>(workspace);
  const std::size_t columns = x.extent(1);
  if (columns > own.scaled.extent(1) || (degree > 1 && columns > own.other.extent(1)))
    throw std::logic_error(this->name() + ": the workspace was made for fewer vectors");
  if (static_cast<std::int64_t>(own.scaled.extent(0)) != this->num_rows())
    throw std::logic_error(this->name() + ": the workspace was made for " +
                           std::to_string(own.scaled.extent(0)) + " rows, and there are " +
                           std::to_string(this->num_rows()));
  using Vectors = MultiVectorView<Scalar, Space>;
  const Vectors b = Kokkos::subview(own.scaled, Kokkos::ALL, Kokkos::make_pair(std::size_t(0), columns));
  const Vectors other =
      degree > 1
          ? Vectors(Kokkos::subview(own.other, Kokkos::ALL, Kokkos::make_pair(std::size_t(0), columns)))
          : Vectors();
  Kokkos::parallel_for("prekond::polynomial::apply::scale", rows,
                       kernels::ApplyDiagonal<Scalar, Space>{m_inverse_diagonal, x, b,
                                                             std::ldexp(Real(1), -(m_exponent / 2))});
  MultiVectorView<const Scalar, Space> from = b;
  for (int j = 0; j < degree; ++j) {
    Polynomial::Step step = m_polynomial.steps[j];
    if (j == degree - 1)  // M^-1 = 2^-e p(B) D^-1, half of it in b: x may be as large as A is
      for (double* factor : {&step.product, &step.direct, &step.previous, &step.source})
        *factor = std::ldexp(*factor, m_exponent / 2 - m_exponent);
    const Vectors to = (degree - j) % 2 == 1 ? y : other;  // the last step's is y
    const RecurrenceStep<Scalar> scalars{
        Scalar(static_cast<Real>(step.product)), Scalar(static_cast<Real>(step.direct)),
        Scalar(static_cast<Real>(step.previous)), Scalar(static_cast<Real>(step.source))};
    m_b.multiply_recurrence(space, scalars, from, b, to);
    from = to;
  }
}

#define PREKOND_POLYNOMIAL(Scalar, Space) template class PolynomialPreconditioner<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_POLYNOMIAL)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_POLYNOMIAL)

}  // namespace prekond
