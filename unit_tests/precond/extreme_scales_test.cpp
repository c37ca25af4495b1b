// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/general_matrices.hpp"
#include "testing/hermitian_matrices.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include <prekond/precond/registry.hpp>

#include <cmath>
#include <limits>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

/// A times a power of two has the preconditioner of A divided by it, as long as its entries are normal
/// numbers.
namespace prekond::testing {
namespace {

template <class Scalar>
using Real = real_type_t<Scalar>;

template <class Scalar>
Scalar times_two_to(Scalar x, int k) {
  if constexpr (is_complex<Scalar>)
    return Scalar(std::ldexp(x.real(), k), std::ldexp(x.imag(), k));
  else
    return std::ldexp(x, k);
}

template <class Scalar>
HostMatrix<Scalar> times_two_to(HostMatrix<Scalar> a, int k) {
  for (Scalar& value : a.values) value = times_two_to(value, k);
  return a;
}

template <class Scalar>
bool is_normal(const Scalar& x) {
  const auto fits = [](Real<Scalar> part) { return part == 0 || std::isnormal(part); };
  return fits(real_part(x)) && fits(imaginary_part(x));
}

template <class Scalar>
bool is_normal(const HostMatrix<Scalar>& a) {
  for (const Scalar& value : a.values)
    if (!is_normal(value)) return false;
  return true;
}

template <class Scalar>
HostMatrix<Scalar> in_scalar(const HostMatrix<double>& a, unsigned seed) {
  if constexpr (is_complex<Scalar>) {
    const HostMatrix<Complex> phased = with_random_phases(a, seed);
    return {a.num_rows, a.num_cols, a.row_ptrs, a.col_idxs, {phased.values.begin(), phased.values.end()}};
  } else {
    return convert<Scalar>(a);
  }
}

struct Setting {
  std::string name;
  OptionMap options;
  bool factored = false;  ///< has square roots of A's entries: powers of two with an odd exponent round
};

std::string text_of(const Setting& setting) {
  std::string text = setting.name;
  for (const auto& [key, value] : setting.options)
    std::visit(
        [&, &name = key](const auto& set) {
          std::ostringstream out;
          out << " " << name << "=" << set;
          text += out.str();
        },
        value);
  return text;
}

/// The options that choose another path, for every preconditioner.
std::vector<Setting> settings() {
  using Text = std::string;
  std::vector<Setting> all = {{"jacobi", {}}};
  const auto add = [&](const char* name, const std::vector<OptionMap>& choices, bool factored) {
    for (const OptionMap& options : choices) all.push_back({name, options, factored});
  };
  const std::vector<OptionMap> stored = {
      {{"storage", Text("single")}}, {{"storage", Text("half")}}, {{"storage", Text("bfloat16")}}};
  const OptionMap single = {{"setup_scalar", Text("single")}}, full = {{"setup_scalar", Text("double")}};
  add("fsai",
      {single,
       full,
       {{"power", 2}, {"prefilter", 0.05}, {"postfilter", 0.05}},
       {{"block_size", 3}},
       {{"block_size", 0}, {"setup_scalar", Text("double")}}},
      true);
  add("adaptive_fsai",
      {single,
       full,
       {{"max_steps", 25}, {"step_size", 1}, {"step_tolerance", 0.0}},
       {{"prefilter", 0.05}, {"postfilter", 0.05}},
       {{"initial_power", 1}, {"setup_scalar", Text("double")}},
       {{"gradient", Text("marker")}},
       {{"gradient", Text("merge")}, {"setup_scalar", Text("double")}},
       {{"gradient", Text("merge")}}},
      true);
  add("nonsymmetric_fsai", {single, full, {{"power", 2}, {"prefilter", 0.05}, {"postfilter", 0.05}}}, true);
  add("isai",
      {single,
       full,
       {{"power", 2}, {"prefilter", 0.05}},
       {{"kind", Text("lower")}},
       {{"kind", Text("upper")}},
       {{"relaxation_steps", 2}},
       {{"kind", Text("lower")}, {"relaxation_steps", 2}, {"storage", Text("single")}}},
      false);
  add("isai", {{{"kind", Text("spd")}}, {{"kind", Text("spd")}, {"relaxation_steps", 1}}}, true);
  add("spai",
      {single,
       full,
       {{"side", Text("left")}},
       {{"setup_scalar", Text("single")}, {"side", Text("left")}},
       {{"power", 2}, {"prefilter", 0.05}}},
      false);
  add("dynamic_spai",
      {single, full, {{"side", Text("left")}, {"epsilon", 0.1}}, {{"max_steps", 3}, {"epsilon", 0.2}}},
      false);
  const OptionMap unscaled = {{"scaling", Text("none")}};
  for (const char* name : {"ls_polynomial", "chebyshev", "neumann"})
    add(name, {{}, unscaled, {{"bounds", Text("gershgorin")}}}, true);
  add("chebyshev", {{{"kind", Text("fourth")}}, {{"kind", Text("fourth_optimized")}, {"degree", 5}}}, true);
  for (const char* name :
       {"fsai", "adaptive_fsai", "nonsymmetric_fsai", "ls_polynomial", "chebyshev", "neumann"})
    add(name, stored, true);
  for (const char* name : {"isai", "spai", "dynamic_spai"}) add(name, stored, false);
  return all;
}

/// Blocks are for real matrices.
std::vector<Setting> real_settings() {
  auto all = settings();
  for (const char* name : {"multicolor_gs", "multicolor_ssor", "multicolor_ilu0"}) {
    all.push_back({name, {}, true});
    all.push_back({name, {{"storage", std::string("single")}}, true});
  }
  all.push_back({"multicolor_ssor", {{"sweeps", 2}, {"omega", 1.5}}, true});
  for (const char* smoother : {"chebyshev", "jacobi"})
    all.push_back({"amg", {{"coarse_size", 10}, {"smoother", std::string(smoother)}}, true});
  all.push_back({"multicolor_ilu0", {{"kind", std::string("ic")}}, true});
  for (const char* name : {"ilu0", "iluk", "ic0", "ick", "mic_gustafsson", "mic_robert", "par_ilu", "par_ic",
                           "par_ilut", "ilut", "ict"}) {
    all.push_back({name, {}, true});
    all.push_back({name, {{"storage", std::string("single")}}, true});
    all.push_back({name, {{"solve.method", std::string("jacobi")}}, true});
    all.push_back({name, {{"solve.method", std::string("isai")}}, true});
  }
  for (const int b : {1, 3}) {
    all.push_back({"block_ilu0", {{"block_size", b}}, false});
    all.push_back({"block_ilu0", {{"block_size", b}, {"solve.method", std::string("jacobi")}}, false});
    all.push_back({"multicolor_block_gs", {{"block_size", b}, {"sweeps", 2}}, false});
  }
  const auto add_blocks = [&](const char* name, OptionMap options, const std::string& local, bool factored) {
    options["local"] = local;
    all.push_back({name, options, factored});
  };
  add_blocks("block_jacobi", {}, "dense", false);
  add_blocks("block_jacobi", {{"partition", std::string("supervariables")}}, "dense", false);
  for (const char* storage : {"single", "half", "bfloat16"})
    add_blocks("block_jacobi", {{"block_size", 7}, {"local.storage", std::string(storage)}}, "dense", false);
  for (const char* name : {"block_jacobi", "schwarz"}) {
    for (const char* local : {"dense", "isai"}) add_blocks(name, {{"block_size", 11}}, local, false);
    for (const char* local : {"ilu0", "ilut", "ic0"}) add_blocks(name, {{"block_size", 11}}, local, true);
  }
  add_blocks("schwarz", {{"block_size", 9}, {"combine", std::string("additive")}}, "dense", false);
  return all;
}

template <class Scalar, class Space>
struct Applied {
  std::vector<std::vector<Scalar>> y;
  Report report;
};

/// M^-1 X for the matrix, and what the setup reported.
template <class Scalar, class Space>
Applied<Scalar, Space> applied(const Setting& setting, const HostMatrix<Scalar>& a,
                               const std::vector<std::vector<Scalar>>& x) {
  const Space space;
  const auto m =
      create(preconditioner_registry<Scalar, Space>(), "preconditioner", setting.name, setting.options);
  const auto on_device = to_device<Space>(a);
  m->symbolic(space, on_device);
  m->numeric(space, on_device);
  const auto n = static_cast<std::size_t>(a.num_rows);
  const MultiVector<Scalar, Space> from("from", n, x.size()), to("to", n, x.size());
  const auto host = Kokkos::create_mirror_view(from);
  for (std::size_t v = 0; v < x.size(); ++v)
    for (std::size_t i = 0; i < n; ++i) host(i, v) = x[v][i];
  Kokkos::deep_copy(from, host);
  const auto workspace = m->make_workspace(space, static_cast<int>(x.size()));
  m->apply(space, from, to, *workspace);
  Kokkos::fence();
  Applied<Scalar, Space> result{{}, m->report()};
  for (std::size_t v = 0; v < x.size(); ++v) result.y.push_back(to_vector(column(to, v)));
  return result;
}

/// One dense vector, one with a single entry, and the first times a power of two.
template <class Scalar>
std::vector<std::vector<Scalar>> vectors(std::int64_t n, int k) {
  std::vector<std::vector<Scalar>> x(3, std::vector<Scalar>(n));
  const auto random = random_complex(n, 11);
  for (std::int64_t i = 0; i < n; ++i) {
    if constexpr (is_complex<Scalar>)
      x[0][i] = Scalar(random[i]);
    else
      x[0][i] = static_cast<Scalar>(random[i].real());
    x[2][i] = times_two_to(x[0][i], k);
  }
  x[1][n / 2] = 1;
  return x;
}

/// y is 2^-k times `expected`, to the last bit, or where roots rounded to some digits, where that is a normal
/// number.
template <class Scalar>
void expect_scaled(const std::vector<Scalar>& y, const std::vector<Scalar>& expected, int k,
                   double tolerance) {
  double largest = 0;
  for (const Scalar& value : expected) largest = std::max(largest, double(Kokkos::abs(value)));
  ASSERT_GT(largest, 0);
  ASSERT_TRUE(std::isfinite(largest));
  for (std::size_t i = 0; i < y.size(); ++i) {
    const Scalar scaled = times_two_to(expected[i], -k);
    if (!is_normal(scaled)) continue;
    if (tolerance == 0) {
      ASSERT_EQ(y[i], scaled) << "row " << i;
    } else {
      ASSERT_LE(double(Kokkos::abs(times_two_to(y[i], k) - expected[i])), tolerance * largest) << "row " << i;
    }
  }
}

bool has(const Setting& setting, const char* key, const char* value) {
  const auto found = setting.options.find(key);
  return found != setting.options.end() && found->second == OptionValue(std::string(value));
}

/// In half precision what is applied in between is up to 2^-28 of M^-1, and a step of the relaxation adds
/// products that are as much smaller than M^-1 as the residual is. The inverses of blocks have entries far
/// below their largest one, and factors of a matrix in its own order sums of terms that are.
template <class Scalar>
std::vector<int> exponents(const Setting& setting) {
  const std::set<std::string> incomplete = {
      "ilu0",   "iluk",     "ic0",  "ick", "mic_gustafsson", "mic_robert",         "par_ilu",
      "par_ic", "par_ilut", "ilut", "ict", "block_ilu0",     "multicolor_block_gs"};
  const bool less = has(setting, "storage", "half") || setting.options.count("relaxation_steps") > 0 ||
                    setting.options.count("local") > 0 || incomplete.count(setting.name) > 0;
  // A polynomial's last step adds terms that are smaller than M^-1.
  const std::set<std::string> polynomials = {"ls_polynomial", "chebyshev", "neumann"};
  if (sizeof(Real<Scalar>) == 4 && polynomials.count(setting.name) > 0) return {-100, -61, -1, 1, 2, 61};
  if (sizeof(Real<Scalar>) == 4) return {-100, -61, -1, 1, 2, 61, less ? 80 : 100};
  return {-1000, -565, -100, -1, 1, 2, 100, 565, less ? 970 : 1000};
}

/// The values that are rounded once more where k is odd, in the precision that the factor has.
template <class Scalar>
double tolerance_of(const Setting& setting) {
  double epsilon = std::numeric_limits<Real<Scalar>>::epsilon();
  if (!has(setting, "setup_scalar", "double")) epsilon = std::max(epsilon, 0x1p-23);
  if (has(setting, "storage", "half")) epsilon = 0x1p-10;
  if (has(setting, "storage", "bfloat16")) epsilon = 0x1p-7;
  return 256 * epsilon;
}

/// Without the seconds that the host's work took, and residuals, which are rounding where sweeps have ended.
std::vector<std::string> untimed(std::vector<std::string> notes) {
  static const std::regex seconds(" in [-+.0-9e]+ s\\b");
  static const std::regex rounded("(was|is|size|and) [0-9][-+.0-9e]*");
  for (std::string& note : notes) {
    note = std::regex_replace(note, seconds, " in # s");
    if (note.find("the residual") != std::string::npos) note = std::regex_replace(note, rounded, "$1 #");
  }
  return notes;
}

/// Notes say the same, but for the host's seconds and what a polynomial of A itself says of A: its numbers
/// are 2^k times the expected ones, those of omega 2^-k times.
void expect_notes(const Setting& setting, const std::vector<std::string>& found,
                  const std::vector<std::string>& expected, int k) {
  if (!has(setting, "scaling", "none")) {
    EXPECT_EQ(untimed(found), untimed(expected));
    return;
  }
  static const std::regex number("-?[0-9][0-9.]*(e[-+][0-9]+)?");
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    // The part after the last comma says where they come from.
    const std::size_t end = found[i].rfind(", "), expected_end = expected[i].rfind(", ");
    const std::string head = found[i].substr(0, end), expected_head = expected[i].substr(0, expected_end);
    EXPECT_EQ(found[i].substr(head.size()), expected[i].substr(expected_head.size()));
    EXPECT_EQ(std::regex_replace(head, number, "#"), std::regex_replace(expected_head, number, "#"));
    const int exponent = head.find("omega") == std::string::npos ? k : -k;
    const std::sregex_iterator none;
    std::sregex_iterator x(head.begin(), head.end(), number);
    std::sregex_iterator y(expected_head.begin(), expected_head.end(), number);
    for (; x != none && y != none; ++x, ++y) {
      const double value = std::stod(y->str());
      EXPECT_NEAR(std::ldexp(std::stod(x->str()), -exponent), value, 1e-3 * std::abs(value)) << found[i];
    }
  }
}

template <class Scalar, class Space>
void check_scaling(const std::vector<Setting>& chosen, const HostMatrix<Scalar>& a, bool odd_too,
                   int most = std::numeric_limits<int>::max()) {
  for (const Setting& setting : chosen) {
    const auto expected = applied<Scalar, Space>(setting, a, vectors<Scalar>(a.num_rows, 0));
    for (const int k : exponents<Scalar>(setting)) {
      const HostMatrix<Scalar> scaled = times_two_to(a, k);
      const bool rounds = setting.factored && k % 2 != 0;
      if (!is_normal(scaled) || (rounds && !odd_too) || std::abs(k) > most) continue;
      SCOPED_TRACE(text_of(setting) + ", k = " + std::to_string(k));
      const auto found = applied<Scalar, Space>(setting, scaled, vectors<Scalar>(a.num_rows, k));
      EXPECT_EQ(found.report.nnz, expected.report.nnz);
      expect_notes(setting, found.report.notes, expected.report.notes, k);
      EXPECT_EQ(found.report.breakdowns.count, expected.report.breakdowns.count);
      EXPECT_EQ(found.report.breakdowns.first_row, expected.report.breakdowns.first_row);
      EXPECT_EQ(found.report.breakdowns.action, expected.report.breakdowns.action);
      if (!rounds) {
        EXPECT_EQ(found.report.breakdowns.first_pivot, expected.report.breakdowns.first_pivot);
      }
      const double tolerance = rounds ? tolerance_of<Scalar>(setting) : 0;
      expect_scaled(found.y[0], expected.y[0], k, tolerance);
      expect_scaled(found.y[1], expected.y[1], k, tolerance);
      expect_scaled(found.y[2], expected.y[2], 0, tolerance);
    }
  }
}

std::vector<Setting> only(const std::vector<Setting>& all, bool spd) {
  std::vector<Setting> result;
  const std::set<std::string> of_spd = {
      "fsai",           "adaptive_fsai", "ic0",           "ick",       "par_ic",  "ict",
      "mic_gustafsson", "mic_robert",    "ls_polynomial", "chebyshev", "neumann", "amg"};
  for (const Setting& setting : all) {
    const bool needs_spd = of_spd.count(setting.name) > 0 || has(setting, "kind", "spd") ||
                           has(setting, "local", "ic0") || has(setting, "kind", "ic");
    if (spd || !needs_spd) result.push_back(setting);
  }
  return result;
}

template <class Scalar, class Space>
std::vector<Setting> registered(bool spd) {
  std::vector<Setting> result;
  for (const Setting& setting : only(is_complex<Scalar> ? settings() : real_settings(), spd))
    for (const auto& line : preconditioner_registry<Scalar, Space>())
      if (line.name == setting.name) result.push_back(setting);
  return result;
}

template <class Space>
class ExtremeScales : public ::testing::Test {};
TYPED_TEST_SUITE(ExtremeScales, TestSpaces, SpaceNames);

TYPED_TEST(ExtremeScales, EveryPreconditionerIsTested) {
  // The first does not depend on the matrix. The second is one of the others; a solver that leaves the range
  // starts again, and its trial counts more iterations. The third goes by logarithms, whose rounding may
  // choose another of several best matchings, and is tested at extreme scales in matched_test.cpp.
  std::set<std::string> tested = {"none", "auto", "matched"};
  for (const Setting& setting : real_settings()) tested.insert(setting.name);
  // A method whose presets all have names of their own is tested by these.
  const auto& registry = preconditioner_registry<double, TypeParam>();
  for (const auto& entry : registry)
    if (tested.count(entry.name) > 0) tested.insert(entry.alias_of);
  for (const auto& entry : registry) EXPECT_EQ(tested.count(entry.name), 1u) << entry.name;
}

TYPED_TEST(ExtremeScales, OfSymmetricMatrices) {
  for (const auto& a : {random_spd(43, 0.2, 74), generated("elasticity3d:2")}) {
    check_scaling<double, TypeParam>(registered<double, TypeParam>(true), a, true);
    check_scaling<float, TypeParam>(registered<float, TypeParam>(true), in_scalar<float>(a, 1), true);
  }
}

TYPED_TEST(ExtremeScales, OfHermitianMatrices) {
  const auto a = random_spd(41, 0.2, 75);
  check_scaling<Complex, TypeParam>(registered<Complex, TypeParam>(true), in_scalar<Complex>(a, 2), true);
  check_scaling<Kokkos::complex<float>, TypeParam>(registered<Kokkos::complex<float>, TypeParam>(true),
                                                   in_scalar<Kokkos::complex<float>>(a, 2), true);
}

TYPED_TEST(ExtremeScales, OfGeneralMatrices) {
  for (const auto& a : {random_general(43, 0.2, 76), generated("convection_diffusion3d:4,peclet=1000")}) {
    check_scaling<double, TypeParam>(registered<double, TypeParam>(false), a, true);
    check_scaling<float, TypeParam>(registered<float, TypeParam>(false), in_scalar<float>(a, 3), true);
  }
}

/// A diagonal entry of zero is no breakdown, but where the diagonal is all there is: its inverse
/// is taken to be 1, at every scale.
TYPED_TEST(ExtremeScales, OfZerosOnTheDiagonal) {
  const auto a = random_dense(23, 5);
  std::vector<Setting> chosen;
  for (const Setting& setting : registered<double, TypeParam>(false))
    if (setting.name != "jacobi" && setting.options.count("kind") == 0) chosen.push_back(setting);
  check_scaling<double, TypeParam>(chosen, a, false);
  check_scaling<float, TypeParam>(chosen, in_scalar<float>(a, 3), false);
}

/// A method that breaks down does so at every scale at which the large entries of the inverse are finite.
TYPED_TEST(ExtremeScales, OfSingularMatrices) {
  const auto gram = random_gram(29, 13, 0, 9);
  check_scaling<double, TypeParam>(registered<double, TypeParam>(true), gram, false, 900);
  check_scaling<float, TypeParam>(registered<float, TypeParam>(true), in_scalar<float>(gram, 4), false, 62);
}

/// Sums of two entries overflow, or the products of the smallest ones are no normal numbers; G's entries are
/// far from either.
TYPED_TEST(ExtremeScales, FactorsAtTheEndsOfTheRange) {
  const auto a =
      sparse<double>({{3.8, 3.6, 0, 0}, {3.6, 3.8, 0.1, 0}, {0, 0.1, 3.8, -3.7}, {0, 0, -3.7, 3.8}});
  for (const Setting& setting : only(real_settings(), true)) {
    if (!setting.factored || setting.options.count("storage") + setting.options.count("relaxation_steps") > 0)
      continue;
    if (setting.name == "amg") continue;  // a dense inverse
    const auto expected = applied<double, TypeParam>(setting, a, vectors<double>(4, 0));
    for (const int k : {-1018, 1022}) {
      SCOPED_TRACE(text_of(setting) + ", k = " + std::to_string(k));
      const auto scaled = times_two_to(a, k);
      ASSERT_TRUE(is_normal(scaled));
      const auto found = applied<double, TypeParam>(setting, scaled, vectors<double>(4, k));
      EXPECT_EQ(found.report.breakdowns.count, 0);
      EXPECT_EQ(found.report.nnz, expected.report.nnz);
      expect_scaled(found.y[2], expected.y[2], 0, 0);
    }
  }
}

/// D_ii x_i for D of `widened`
template <class Scalar>
std::vector<Scalar> widened(std::vector<Scalar> x, int step) {
  const int n = static_cast<int>(x.size());
  for (int i = 0; i < n; ++i) x[i] = times_two_to(x[i], step * i - step * n / 2);
  return x;
}

/// M^-1 of D A D is D^-1 M^-1 D^-1, to the last bit: the static FSAI does not depend on the rows' scales.
template <class Scalar, class Space>
void check_grading(const HostMatrix<double>& a, const std::vector<int>& steps) {
  const int n = static_cast<int>(a.num_rows);
  ASSERT_EQ(n % 2, 0) << "so that D has whole powers";
  for (const Setting& setting : only(settings(), true)) {
    // A storage with a smaller range than the matrix's loses what is below it.
    if (setting.name != "fsai" || setting.options.count("postfilter") + setting.options.count("storage") > 0)
      continue;
    const auto x = vectors<Scalar>(n, 0)[0];
    const auto expected = applied<Scalar, Space>(setting, in_scalar<Scalar>(a, 6), {x});
    for (const int step : steps) {
      SCOPED_TRACE(text_of(setting) + ", step " + std::to_string(step));
      const auto graded = in_scalar<Scalar>(widened(a, step), 6);
      ASSERT_TRUE(is_normal(graded));
      const auto found = applied<Scalar, Space>(setting, graded, {widened(x, step)});
      EXPECT_EQ(found.report.breakdowns.count, expected.report.breakdowns.count);
      const auto y = widened(expected.y[0], -step);
      for (int i = 0; i < n; ++i) ASSERT_EQ(found.y[0][i], y[i]) << "row " << i;
    }
  }
}

TYPED_TEST(ExtremeScales, StaticFsaiOfGradedMatrices) {
  const auto a = random_spd(34, 0.3, 77);
  check_grading<double, TypeParam>(a, {2, 14, 20, 28});
  check_grading<float, TypeParam>(a, {1, 2, 3});
  check_grading<Complex, TypeParam>(a, {28});
}

/// The entries of M^-1 by columns, relative to those of D^-1 diag(A)^-1 D^-1.
template <class Scalar, class Space>
void expect_sound_on_graded(const Setting& setting, const HostMatrix<double>& a, int step) {
  SCOPED_TRACE(text_of(setting) + ", step " + std::to_string(step));
  const auto graded = in_scalar<Scalar>(widened(a, step), 6);
  ASSERT_TRUE(is_normal(graded));
  std::vector<std::vector<Scalar>> units;
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    units.emplace_back(a.num_rows);
    units.back()[i] = 1;
  }
  const auto found = applied<Scalar, Space>(setting, graded, units);
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    for (const Scalar& value : found.y[i]) ASSERT_TRUE(is_finite(value)) << "column " << i;
    const double relative = double(Kokkos::abs(graded(i, i))) * double(Kokkos::abs(found.y[i][i]));
    EXPECT_GT(relative, 0.2) << "row " << i;
    EXPECT_LT(relative, 5) << "row " << i;
  }
  EXPECT_EQ(found.report.breakdowns.count, 0) << found.report.breakdowns.action;
}

TYPED_TEST(ExtremeScales, AdaptiveFsaiOfGradedMatrices) {
  const auto a = with_larger_diagonal(random_spd(34, 0.3, 77), 1);
  for (const Setting& setting : only(real_settings(), true)) {
    if (setting.name != "adaptive_fsai" || setting.options.count("storage") > 0) continue;
    for (const int step : {1, 2, 14, 20, 28}) expect_sound_on_graded<double, TypeParam>(setting, a, step);
    for (const int step : {1, 2, 3}) expect_sound_on_graded<float, TypeParam>(setting, a, step);
  }
  for (const Setting& setting : settings())
    if (setting.name == "adaptive_fsai" && setting.options.count("storage") == 0)
      expect_sound_on_graded<Complex, TypeParam>(setting, a, 28);
}

/// General matrices graded to 1e300 leave no method with a number that is not finite.
TYPED_TEST(ExtremeScales, GradedMatricesEndWithFiniteInverses) {
  const auto a = random_general(34, 0.2, 78);
  for (const Setting& setting : registered<double, TypeParam>(false)) {
    for (const int step : {14, 28}) {
      SCOPED_TRACE(text_of(setting) + ", step " + std::to_string(step));
      const auto graded = widened(a, step);
      const auto found =
          applied<double, TypeParam>(setting, graded, {widened(vectors<double>(34, 0)[0], step)});
      for (const double value : found.y[0]) ASSERT_TRUE(std::isfinite(value));
    }
  }
}

TYPED_TEST(ExtremeScales, APrefilterDropsTheSameAtEveryScale) {
  // Entries that are tau times their scale, to the last bit, are not above it.
  const auto a = sparse<double>({{3, 0.75, 0}, {0.75, 3, 0.75}, {0, 0.75, 3}});
  for (const char* name : {"fsai", "adaptive_fsai"}) {
    for (const int k : {-1000, -565, -1, 0, 1, 565, 1000}) {
      const Setting setting{name, {{"prefilter", 0.25}}};
      const auto found = applied<double, TypeParam>(setting, times_two_to(a, k), vectors<double>(3, 0));
      EXPECT_EQ(found.report.nnz, 3) << name << " " << k;
    }
  }
}

TYPED_TEST(ExtremeScales, JacobiReportsWhatHasNoInverse) {
  const auto a = sparse<double>({{1e-310, 0}, {0, 4}});
  const auto found = applied<double, TypeParam>({"jacobi", {}}, a, {{3, 8}});
  EXPECT_EQ(found.y[0], (std::vector<double>{3, 2}));
  EXPECT_EQ(found.report.breakdowns.count, 1);
  EXPECT_EQ(found.report.breakdowns.first_row, 0);
}

}  // namespace
}  // namespace prekond::testing
