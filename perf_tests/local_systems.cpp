// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "named_method.hpp"

#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/precond/impl/factored_inverse.hpp>
#include <prekond/precond/registry.hpp>

#include "krylov/tridiagonal.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

/// Sizes and condition numbers of the local systems of FSAI and adaptive FSAI, Figures 7 and 8 of Bernaschi
/// et al. (2019): local_systems MATRIX COUNT METHOD... MATRIX is NAME:SIZE of a generator or a Matrix Market
/// file, METHOD a name with options (adaptive_fsai:max_steps=30:step_size=1). A row of JSON for each method.
/// P is a row of the factor G; the system is A[P, P] of the static FSAI, and that without the row's own
/// unknown of the adaptive one. Sizes are those of all rows; condition numbers, largest eigenvalue over
/// smallest by Householder's tridiagonal form, those of COUNT rows at equal distances. Both are told by
/// quantiles. Rounding blurs condition numbers from 1e14 on.
namespace {

using namespace prekond;
using Space = Kokkos::DefaultHostExecutionSpace;
using Matrix = CsrMatrix<double, int, std::size_t, Space::memory_space>;
constexpr double shares[] = {0, 0.05, 0.25, 0.5, 0.75, 0.95, 1};

std::unique_ptr<MatrixPreconditioner<double, Space>> set_up(const Space& space, const Matrix& a,
                                                            const std::string& text) {
  const auto [name, options] = perf::named_method(text);
  const auto configurator =
      find_registered(preconditioner_registry<double, Space>(), name, "preconditioner").configure();
  configurator->fields().set(options, name);
  auto method = configurator->build();
  method->symbolic(space, a);
  method->numeric(space, a);
  return method;
}

using Dense = std::vector<std::vector<double>>;

Dense gather(const Matrix& a, const std::vector<int>& p) {
  Dense local(p.size(), std::vector<double>(p.size(), 0));
  for (std::size_t i = 0; i < p.size(); ++i)
    for (std::size_t k = a.row_ptrs(p[i]); k < a.row_ptrs(p[i] + 1); ++k) {
      const auto place = std::lower_bound(p.begin(), p.end(), a.col_idxs(k));
      if (place != p.end() && *place == a.col_idxs(k)) local[i][place - p.begin()] = a.values(k);
    }
  return local;
}

double dot(const std::vector<double>& x, const std::vector<double>& y, std::size_t begin) {
  double sum = 0;
  for (std::size_t i = begin; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

/// Makes row and column k of a symmetric matrix tridiagonal by the reflection I - 2 v v^T / v^T v (Golub, Van
/// Loan, algorithm 8.3.1).
void reflect(Dense& a, std::size_t k) {
  std::vector<double> v = a[k], w(v.size(), 0);
  const double norm = std::sqrt(dot(v, v, k + 1));
  v[k + 1] += v[k + 1] < 0 ? -norm : norm;
  const double square = dot(v, v, k + 1);
  if (square == 0) return;
  for (std::size_t i = k; i < v.size(); ++i) w[i] = 2 * dot(a[i], v, k + 1) / square;
  v[k] = 0;
  const double shift = dot(v, w, k + 1) / square;
  for (std::size_t i = k; i < v.size(); ++i) w[i] -= shift * v[i];
  for (std::size_t i = k; i < v.size(); ++i)
    for (std::size_t j = k; j < v.size(); ++j) a[i][j] -= v[i] * w[j] + w[i] * v[j];
}

double condition(Dense a) {
  std::vector<double> diagonal, next;
  for (std::size_t k = 0; k + 2 < a.size(); ++k) reflect(a, k);
  for (std::size_t k = 0; k < a.size(); ++k) {
    diagonal.push_back(a[k][k]);
    if (k > 0) next.push_back(a[k - 1][k]);
  }
  const std::vector<double> values = krylov::tridiagonal_eigenvalues(diagonal, next).values;
  return values.back() / values.front();
}

void print_quantiles(const char* name, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::printf(", \"%s\": [", name);
  for (const double share : shares)
    std::printf("%s%.4g", share > 0 ? ", " : "",
                values[static_cast<std::size_t>(share * double(values.size() - 1))]);
  std::printf("]");
}

void measure(const Space& space, const Matrix& a, const std::string& matrix, std::int64_t count,
             const std::string& text) {
  const auto method = set_up(space, a, text);
  const auto* inverse = dynamic_cast<const FactoredInverse<double, Space>*>(method.get());
  if (inverse == nullptr) throw OptionError(text + " has no factor G; name fsai or adaptive_fsai");
  const Matrix& g = inverse->factor();
  const bool own = text.rfind("adaptive", 0) != 0;
  std::vector<double> sizes, conditions;
  const std::int64_t step = std::max<std::int64_t>(1, a.num_rows / count);
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    const std::vector<int> p(g.col_idxs.data() + g.row_ptrs(i),
                             g.col_idxs.data() + g.row_ptrs(i + 1) - (own ? 0 : 1));
    sizes.push_back(double(p.size()));
    if (i % step == step / 2 && !p.empty()) conditions.push_back(condition(gather(a, p)));
  }
  std::printf("{\"matrix\": \"%s\", \"method\": \"%s\", \"rows\": %lld, \"sampled\": %zu", matrix.c_str(),
              text.c_str(), static_cast<long long>(a.num_rows), conditions.size());
  print_quantiles("sizes", sizes);
  print_quantiles("conditions", conditions);
  std::printf("}\n");
}

}  // namespace

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard guard(argc, argv);
  if (argc < 4) {
    std::fprintf(stderr, "local_systems MATRIX COUNT METHOD...\n");
    return 2;
  }
  const Space space;
  const std::string name = argv[1];
  const Matrix a = name.find(".mtx") == std::string::npos ? Matrix(generate<double>(space, name))
                                                          : Matrix(read_matrix_market<double>(name));
  for (int k = 3; k < argc; ++k) measure(space, a, name, std::max(1, std::atoi(argv[2])), argv[k]);
  return 0;
}
