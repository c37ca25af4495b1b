// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Matrices, options and expectations of the approximate inverses, for their common tests: a struct for each
/// method, with the variants that are tested.
#include "testing/fsai_expectations.hpp"
#include "testing/isai_cases.hpp"
#include "testing/nonsymmetric_fsai_cases.hpp"
#include "testing/preconditioned_iterations.hpp"
#include "testing/reference_power.hpp"
#include "testing/set_up.hpp"
#include "testing/solver_iterations.hpp"
#include "testing/spaces.hpp"
#include "testing/spai_cases.hpp"

#include <prekond/precond/adaptive_fsai.hpp>
#include <prekond/precond/fsai.hpp>

#include "core/lane_group.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace prekond::testing {

/// The matrices whose product the inverse is; the first one is applied first.
template <class Scalar>
using Inverse = std::vector<HostMatrix<Scalar>>;

/// Options that several methods have; a method leaves out the others.
struct Choice {
  int power = 1;
  double prefilter = 0, postfilter = 0;
  Precision precision = Precision::double_precision;
  Reuse reuse = Reuse::pattern;
  int relaxation_steps = 0;
};

template <class Options>
Options chosen(Options options, const Choice& choice) {
  if constexpr (requires { options.power; })
    options.power = choice.power;
  else
    options.initial_power = choice.power;
  options.prefilter = choice.prefilter;
  if constexpr (requires { options.postfilter; }) options.postfilter = choice.postfilter;
  if constexpr (requires { options.relaxation_steps; }) options.relaxation_steps = choice.relaxation_steps;
  options.setup_scalar = choice.precision;
  options.reuse = choice.reuse;
  return options;
}

/// The scalar of the setup, or of the matrix.
enum class Arithmetic { in_double, in_single, of_floats };
inline Arithmetic arithmetic_of(Precision precision) {
  return precision == Precision::double_precision ? Arithmetic::in_double : Arithmetic::in_single;
}

/// A matrix, and the first row that single precision cannot solve.
struct IllConditioned {
  HostMatrix<double> matrix;
  int first_row = 0;
};
inline HostMatrix<double> hilbert() {
  Dense entries(9, std::vector<double>(9));
  for (int i = 0; i < 9; ++i)
    for (int j = 0; j < 9; ++j) entries[i][j] = 1.0 / (i + j + 1);
  return sparse(entries);
}

/// A numeric phase that exceeds the memory budget, unless the diagonal is large.
struct Failing {
  HostMatrix<double> matrix;
  Choice choice;
  std::int64_t memory_budget;
  std::vector<std::string> words;  ///< of the error
};
inline Failing pattern_beyond_its_budget(const HostMatrix<double>& a, const Choice& choice,
                                         const HostGraph& pattern) {
  std::size_t nnz = 0;
  for (const auto& row : pattern) nnz += row.size();
  const auto bytes =
      static_cast<std::int64_t>((pattern.size() + 1) * sizeof(std::size_t) + nnz * sizeof(int));
  return {a, choice, bytes - 1, {std::to_string(nnz) + " entries", std::to_string(bytes - 1)}};
}

/// The operations of a setup on its own pattern, and on one that was kept.
template <class Options>
struct Counted {
  HostMatrix<double> matrix;
  Options options;
  std::int64_t nnz;
  double flops, kept_flops;
};
/// 10 on the diagonal and 1 elsewhere.
inline HostMatrix<double> five_dense_rows() {
  Dense entries(5, std::vector<double>(5, 1));
  for (int i = 0; i < 5; ++i) entries[i][i] = 10;
  return sparse(entries);
}

/// Options that the registry refuses, and words of its error.
struct Refusal {
  OptionMap options;
  std::vector<std::string> words;
};

/// Options with which a method takes less than `ratio` times the iterations that it took before.
struct Improvement {
  OptionMap options;
  double ratio;
};

/// Matrices by name on which a method takes less than `ratio` times the iterations of the diagonal.
struct RealMatrices {
  std::vector<std::string> own, collection;
  OptionMap options;
  double ratio;
};

/// The common part of the methods for SPD matrices.
struct SpdCases {
  static constexpr double growth_error = 0;    ///< of a grown inverse, relative to one on a kept pattern
  static constexpr std::size_t num_notes = 0;  ///< of a setup without thresholds
  static constexpr bool is_symmetric = true;
  static constexpr int largest_power = 3, longest_row = 301;  ///< in the comparisons with the reference

  /// A random matrix, and one for long rows.
  static HostMatrix<double> sample(int n, double density, unsigned seed, const auto&) {
    return random_spd(n, density, seed);
  }
  static HostMatrix<double> dense_sample(int n, unsigned seed, const auto&) {
    return random_gram(n, n + 10, 0.1, seed);
  }
  /// The matrix that is inverted.
  static Dense target(const HostMatrix<double>& a, const auto&) { return to_dense(a); }
  template <class Scalar, class Space>
  static Inverse<Scalar> inverse_of(const FactoredInverse<Scalar, Space>& m) {
    return {to_host(m.factor()), to_host(m.factor_transposed())};
  }
  /// The minimiser on the pattern that it has.
  static void expect_reference(const HostMatrix<double>& a, const Inverse<double>& m, const auto&,
                               Arithmetic arithmetic) {
    ASSERT_TRUE(m[1] == transposed(m[0]));
    const bool of_floats = arithmetic == Arithmetic::of_floats;
    ASSERT_NO_FATAL_FAILURE(expect_sound(a, m[0], of_floats ? 1e-5 : 1e-10)) << "the scaling is in double";
    const double tolerance = arithmetic == Arithmetic::in_single ? 1e-3 : of_floats ? 1e-5 : 1e-9;
    ASSERT_NO_FATAL_FAILURE(expect_psi(a, m[0], tolerance));
    if (arithmetic != Arithmetic::in_single) expect_minimisers(a, m[0], of_floats ? 1e-4 : 1e-9);
  }
};

struct AdaptiveFsaiCases : SpdCases {
  template <class Scalar, class Space>
  using Method = AdaptiveFsai<Scalar, Space>;
  using Options = AdaptiveFsaiOptions;
  static constexpr int power = 0;  ///< of the pattern in most tests
  static constexpr double growth_error = 1e-12;
  static constexpr std::int64_t small_workspace = 1 << 16;  ///< 176 rows
  static std::vector<Options> variants() { return {Options::published()}; }
  static std::vector<HostMatrix<double>> large_matrices(const auto&) { return {generated("elasticity3d:7")}; }
  static void expect_reference(const HostMatrix<double>& a, const Inverse<double>& m, const auto& options,
                               Arithmetic arithmetic) {
    if (options.prefilter > 0) return expect_sound(a, m[0], 1e-10);  // it minimises for the filtered matrix
    ASSERT_NO_FATAL_FAILURE(SpdCases::expect_reference(a, m, options, arithmetic));
    if (arithmetic == Arithmetic::in_double) expect_psi(a, m[0], 1e-11);
  }
  template <class Space>
  static std::vector<std::string> kernels(const auto&) {
    return {"prekond::adaptive_fsai::numeric::grow_row"};
  }
  static Counted<Options> counted() {
    Options options = Options::published();
    options.tolerance = 0;
    const double kept = 2 * (1 + 8 + 27 + 64) / 3.0;
    // Every row of G has the i columns before i, each with 5 entries in A: 5 i (i + 1) + 2 i^3 / 3.
    return {five_dense_rows(), options, 15, 5 * (2 + 6 + 12 + 20) + kept, kept};
  }
};

struct FsaiCases : SpdCases {
  template <class Scalar, class Space>
  using Method = Fsai<Scalar, Space>;
  using Options = FsaiOptions;
  static constexpr int power = 2;
  static constexpr std::int64_t small_workspace = 1 << 19;  ///< one of the longest rows
  static std::vector<Options> variants() { return {{}}; }

  static std::vector<Case> small_samples(const auto&) { return small_matrices(); }
  static constexpr double full_error = 1e-8;  ///< of G A G^T with a full G
  static std::vector<Case> full_samples(const auto&) {
    return {{"dense:41", random_spd(41, 1.0, 3)},
            {"random:129", random_spd(129, 0.15, 136)},
            {"random:300", random_spd(300, 0.05, 17)},
            {"gram:24", random_gram(24, 30, 0.01, 18)},
            {"gram:200", random_gram(200, 250, 0.01, 19)}};
  }
  static std::vector<HostMatrix<double>> large_matrices(const auto&) {
    return {generated("elasticity3d:6"), random_gram(330, 400, 0.05, 101)};
  }
  static std::vector<Case> matrices_to_filter(const auto&) {
    return {{"random:129", random_spd(129, 0.15, 31)},
            {"scaled:80", random_spd(80, 0.2, 32, 8)},
            {"elasticity3d:4", generated("elasticity3d:4,contrast=1")}};
  }
  static std::vector<IllConditioned> ill_conditioned(const auto&) {
    return {{hilbert(), 7}, {random_gram(60, 20, 1e-9, 71), 21}, {random_gram(150, 20, 1e-9, 72), 21}};
  }

  /// The pattern whose powers are taken, and the places of a power, or of the user's pattern, that count.
  static HostGraph basis(const HostGraph& s, const auto&) { return s; }
  static HostGraph part_of(const HostGraph& s, const auto&) { return triangle_of(s, false); }
  /// A pattern with rows of one length.
  static HostGraph rows_of(int n, int length, const auto&) {
    return lower_rows_of_lengths(n, [&](int) { return length; });
  }
  static void expect_rows(const HostMatrix<double>& a, const Inverse<double>& m, const auto&,
                          double tolerance, const std::vector<int>& rows) {
    expect_minimisers(a, m[0], tolerance, rows);
  }
  template <class Space>
  static std::vector<std::string> kernels(const auto&) {
    return {"prekond::fsai::numeric::solve_rows", "prekond::fsai::numeric::scale_rows"};
  }

  static Failing failing(const auto&) {
    const HostMatrix<double> a = generated("poisson2d:20");
    return pattern_beyond_its_budget(a, {.power = 3, .prefilter = 0.1},
                                     triangle_of(reference_power(prefiltered(a, 0.1), 3), false));
  }
  static Counted<Options> counted() {
    Options options;
    options.postfilter = 1;  // the operations are those of the rows before it
    return {five_dense_rows(), options, 5, (1 + 8 + 27 + 64 + 125) / 3.0 + (1 + 4 + 9 + 16 + 25),
            5 / 3.0 + 5};
  }
  static OptionMap own_options() {
    return {{"postfilter", 0.03}, {"setup_scalar", std::string("double")}, {"block_size", std::int64_t(0)}};
  }
  static std::vector<Refusal> own_refusals() { return {{{{"postfilter", -0.5}}, {"postfilter"}}}; }

  static std::vector<const char*> problems() { return {"elasticity3d:6"}; }
  /// Sequences of options, each better than the one before and the first better than the diagonal.
  static std::vector<std::vector<Improvement>> improvements() {
    std::vector<std::vector<Improvement>> all;
    for (const char* scalar : {"single", "double"})
      all.push_back({{{{"power", std::int64_t(1)}, {"setup_scalar", std::string(scalar)}}, 0.75},
                     {{{"power", std::int64_t(2)}, {"setup_scalar", std::string(scalar)}}, 0.75}});
    return all;
  }
  template <class Space>
  static std::int64_t iterations_with(const HostMatrix<double>& a, const std::string& name,
                                      const OptionMap& options) {
    return solver_iterations<Space>("cg", a, name, options);
  }
};

/// The common part of the methods for general matrices.
struct GeneralCases {
  static constexpr int power = 2;
  static constexpr double growth_error = 0;
  static constexpr std::int64_t small_workspace = 1 << 18;  ///< one of the longest rows
  static constexpr std::size_t num_notes = 0;
  static constexpr bool is_symmetric = false;
  static constexpr int largest_power = 3, longest_row = 301;  ///< in the comparisons with the reference

  static HostMatrix<double> sample(int n, double density, unsigned seed, const auto&) {
    return random_general(n, density, seed);
  }
  static HostMatrix<double> dense_sample(int n, unsigned seed, const auto&) {
    return random_general(n, 0.7, seed);
  }
  static std::vector<Case> small_samples(const auto&) { return general_matrices(); }
  static constexpr double full_error = 1e-9;
  static std::vector<Case> full_samples(const auto&) {
    std::vector<Case> all;
    for (const int n : {1, 9, 41, 150})
      all.push_back({"random:" + std::to_string(n), random_general(n, 0.5, 17u + n)});
    return all;
  }
  static Dense target(const HostMatrix<double>& a, const auto&) { return to_dense(a); }
  static std::vector<HostMatrix<double>> large_matrices(const auto&) {
    return {generated("convection_diffusion3d:8"), random_dense(130, 101)};
  }
  static HostGraph basis(const HostGraph& s, const auto&) { return s; }
  static HostGraph part_of(const HostGraph& s, const auto&) { return s; }
  static HostGraph rows_of(int n, int length, const auto&) { return rows_of_length(n, length); }

  static constexpr std::uintmax_t largest_file = 60000;  ///< in bytes, of the real matrices
  static std::vector<const char*> problems() {
    return {"convection_diffusion3d:16", "convection_diffusion3d:16,peclet=1000"};
  }
  template <class Space>
  static std::int64_t iterations_with(const HostMatrix<double>& a, const std::string& name,
                                      const OptionMap& options) {
    return iterations<Space>(a, name, options, 300);
  }
};

struct NonsymmetricFsaiCases : GeneralCases {
  template <class Scalar, class Space>
  using Method = NonsymmetricFsai<Scalar, Space>;
  using Options = NonsymmetricFsaiOptions;
  static std::vector<Options> variants() { return {{}}; }

  static std::vector<Case> matrices_to_filter(const auto&) {
    return {{"random:129", random_general(129, 0.1, 31)}};
  }
  static std::vector<IllConditioned> ill_conditioned(const auto&) { return {{hilbert(), 8}}; }

  template <class Scalar, class Space>
  static Inverse<Scalar> inverse_of(const NonsymmetricFsai<Scalar, Space>& m) {
    return {to_host(m.lower_factor()), to_host(m.upper_factor())};
  }
  static HostGraph basis(const HostGraph& s, const auto&) { return symmetrised(s); }
  static HostGraph part_of(const HostGraph& s, const auto&) { return triangle_of(s, false); }
  static HostGraph rows_of(int n, int length, const auto&) {
    return lower_rows_of_lengths(n, [&](int) { return length; });
  }
  static void expect_rows(const HostMatrix<double>& a, const Inverse<double>& m, const auto&,
                          double tolerance, const std::vector<int>& rows) {
    expect_textbook(a, {m[0], transposed(m[1])}, tolerance, rows);
  }
  static void expect_reference(const HostMatrix<double>& a, const Inverse<double>& m, const auto& options,
                               Arithmetic arithmetic) {
    const bool of_floats = arithmetic == Arithmetic::of_floats;
    ASSERT_NO_FATAL_FAILURE(expect_unit_diagonal(a, {m[0], transposed(m[1])}, of_floats ? 1e-5 : 1e-10))
        << "the scaling is in double";
    const double tolerance = arithmetic == Arithmetic::in_single ? 2e-3 : of_floats ? 1e-4 : 1e-10;
    expect_rows(a, m, options, tolerance, {});
  }
  static void expect_finite_inverse(const Inverse<double>& m, const auto&) {
    expect_finite(Factors<double>{m[0], transposed(m[1])});
  }
  template <class Space>
  static std::vector<std::string> kernels(const auto&) {
    return {"prekond::nonsymmetric_fsai::numeric::solve_rows",
            "prekond::nonsymmetric_fsai::numeric::scale_rows"};
  }

  static Failing failing(const auto& options) {
    const HostMatrix<double> a = generated("convection_diffusion3d:6");
    return pattern_beyond_its_budget(
        a, {.power = 3, .prefilter = 0.05},
        part_of(reference_power(basis(prefiltered(a, 0.05), options), 3), options));
  }
  static Counted<Options> counted() {
    Options options;
    options.postfilter = 1;  // the operations are those of the rows before it
    return {five_dense_rows(), options, 10, 2 * ((1 + 8 + 27 + 64 + 125) / 3.0 + (1 + 4 + 9 + 16 + 25)),
            2 * (5 / 3.0 + 5)};
  }
  static OptionMap own_options() { return {{"postfilter", 0.03}, {"setup_scalar", std::string("double")}}; }
  static std::vector<Refusal> own_refusals() { return {{{{"postfilter", -0.5}}, {"postfilter"}}}; }
  static std::vector<std::vector<Improvement>> improvements() {
    std::vector<std::vector<Improvement>> all;
    for (const char* scalar : {"single", "double"})
      all.push_back({{{{"power", std::int64_t(1)}, {"setup_scalar", std::string(scalar)}}, 0.75},
                     {{{"power", std::int64_t(3)}, {"setup_scalar", std::string(scalar)}}, 1}});
    return all;
  }
  /// None of them needs a reordering.
  static RealMatrices real_matrices() {
    return {{"general/convection_diffusion2d.mtx", "general/convection.mtx", "general/circuit.mtx"},
            {"general/orsirr_1.mtx.gz", "general/sherman4.mtx.gz", "general/pde900.mtx.gz",
             "general/jpwh_991.mtx", "general/add32.mtx.gz", "general/bfwa398.mtx",
             "general/poisson2D.mtx.gz", "general/epb0.mtx.gz", "general/fs_680_1.mtx", "general/ck400.mtx",
             "general/cavity01.mtx.gz", "general/pyamg_recirc_flow.mtx"},
            {{"power", std::int64_t(2)}},
            0.75};
  }
};

struct SpaiCases : GeneralCases {
  template <class Scalar, class Space>
  using Method = Spai<Scalar, Space>;
  using Options = SpaiOptions;
  static constexpr int power = 1;
  static constexpr int largest_power = 2, longest_row = 129;
  static constexpr std::int64_t small_workspace = 1 << 16;
  static constexpr std::uintmax_t largest_file = 40000;
  static std::vector<Options> variants() { return {with(Side::right), with(Side::left)}; }

  /// A column's system has more rows than those of other methods: half the density.
  static HostMatrix<double> sample(int n, double density, unsigned seed, const auto&) {
    return random_around_three(n, density / 2, seed);
  }
  static std::vector<Case> small_samples(const auto&) { return spai_matrices(); }
  static constexpr double full_error = 1e-10;
  static std::vector<Case> full_samples(const auto&) {
    return {{"random:90", random_around_three(90, 0.3, 17)}};
  }
  static std::vector<HostMatrix<double>> large_matrices(const auto&) {
    return {generated("convection_diffusion3d:7"), random_around_three(200, 0.1, 101)};
  }
  static std::vector<Case> matrices_to_filter(const auto&) {
    return {{"random:100", random_around_three(100, 0.1, 31)}};
  }
  static std::vector<IllConditioned> ill_conditioned(const auto&) { return {{hilbert(), 0}}; }

  template <class Scalar, class Space>
  static Inverse<Scalar> inverse_of(const Spai<Scalar, Space>& m) {
    return {to_host(m.inverse())};
  }
  static void expect_rows(const HostMatrix<double>& a, const Inverse<double>& m, const Options& options,
                          double tolerance, const std::vector<int>& rows) {
    expect_least(a, m[0], options.side, tolerance, rows);
  }
  static void expect_reference(const HostMatrix<double>& a, const Inverse<double>& m, const Options& options,
                               Arithmetic arithmetic) {
    const bool of_floats = arithmetic == Arithmetic::of_floats;
    expect_least(a, m[0], options.side,
                 arithmetic == Arithmetic::in_single ? 1e-4
                 : of_floats                         ? 1e-5
                                                     : 1e-10);
  }
  static void expect_finite_inverse(const Inverse<double>& m, const Options& options) {
    expect_finite(m[0], options.side);
  }
  template <class Space>
  static std::vector<std::string> kernels(const auto&) {
    return {has_register_levels<Space> ? "prekond::spai::numeric::stream_columns"
                                       : "prekond::spai::numeric::solve_columns"};
  }

  /// The local system of one long column takes more than the whole pattern.
  static Failing failing(const Options& options) {
    Dense entries(60, std::vector<double>(60));
    for (int i = 0; i < 60; ++i) {
      if (i < 50) entries[i][7] = 0.5;
      entries[i][i] = 3;
    }
    const HostMatrix<double> a = sparse(entries);
    return {options.side == Side::right ? a : transposed(a),
            {.prefilter = 0.05},
            3000,
            {"spai: a column with ", "memory_budget = 3000", "prefilter"}};
  }
  static Counted<Options> counted() {
    // 2 x 3 entries with 3 x 2, 2 times 4 x 3, and 46 times 5 x 3.
    const double flops =
        2 * (2 * 3 * 4 - 2 * 8 / 3.0) + 2 * (2 * 4 * 9 - 2 * 27 / 3.0) + 46 * (2 * 5 * 9 - 2 * 27 / 3.0);
    return {generated("tridiagonal:50"), {}, 148, flops, flops};
  }
  static OptionMap own_options() {
    return {{"side", std::string("left")}, {"setup_scalar", std::string("single")}};
  }
  static std::vector<Refusal> own_refusals() { return {{{{"side", std::string("middle")}}, {"side"}}}; }
  static std::vector<const char*> problems() {
    return {"convection_diffusion3d:14", "convection_diffusion3d:14,peclet=1000"};
  }
  static std::vector<std::vector<Improvement>> improvements() {
    std::vector<std::vector<Improvement>> all;
    for (const char* side : {"right", "left"})
      all.push_back({{{{"power", std::int64_t(1)}, {"side", std::string(side)}}, 0.9},
                     {{{"power", std::int64_t(2)}, {"side", std::string(side)}}, 1}});
    return all;
  }
  static RealMatrices real_matrices() {
    return {{"general/convection_diffusion2d.mtx", "general/skewed_rows.mtx"},
            {"general/orsirr_1.mtx.gz", "general/sherman4.mtx.gz", "general/pde900.mtx.gz",
             "general/jpwh_991.mtx", "general/add32.mtx.gz"},
            {{"power", std::int64_t(1)}},
            1};
  }
};

struct IsaiCases : GeneralCases {
  template <class Scalar, class Space>
  using Method = Isai<Scalar, Space>;
  using Options = IsaiOptions;
  static std::vector<Options> variants() {
    std::vector<Options> all;
    for (const IsaiKind kind : all_kinds) all.push_back(of_kind(kind));
    return all;
  }
  static bool is_factored(const Options& options) { return options.kind == IsaiKind::spd; }

  static HostMatrix<double> sample(int n, double density, unsigned seed, const Options& options) {
    return is_factored(options) ? random_spd(n, density, seed) : random_general(n, density, seed);
  }
  static HostMatrix<double> dense_sample(int n, unsigned seed, const Options& options) {
    return is_factored(options) ? FsaiCases::dense_sample(n, seed, options)
                                : GeneralCases::dense_sample(n, seed, options);
  }
  static std::vector<Case> small_samples(const Options& options) {
    return is_factored(options) ? small_matrices() : general_matrices();
  }
  static constexpr double full_error = 1e-11;
  static std::vector<Case> full_samples(const Options& options) {
    if (!is_factored(options)) return GeneralCases::full_samples(options);
    return {{"dense:41", random_spd(41, 1.0, 3)}};
  }
  static Dense target(const HostMatrix<double>& a, const Options& options) {
    return is_factored(options) ? to_dense(a) : testing::part_of(a, options.kind);
  }
  static std::vector<HostMatrix<double>> large_matrices(const Options& options) {
    return is_factored(options) ? FsaiCases::large_matrices(options) : GeneralCases::large_matrices(options);
  }
  static std::vector<Case> matrices_to_filter(const Options& options) {
    if (is_factored(options)) return FsaiCases::matrices_to_filter(options);
    return {{"random:80", random_general(80, 0.15, 33)}};
  }
  static std::vector<IllConditioned> ill_conditioned(const Options& options) {
    if (is_factored(options)) return FsaiCases::ill_conditioned(options);
    // Single precision can solve the triangles.
    if (options.kind == IsaiKind::general) return {{hilbert(), 0}};
    return {};
  }

  template <class Scalar, class Space>
  static Inverse<Scalar> inverse_of(const Isai<Scalar, Space>& m) {
    if (m.factored()) return FsaiCases::inverse_of(*m.factored());
    return {to_host(m.inverse())};
  }
  static HostGraph basis(const HostGraph& s, const Options& options) {
    return is_factored(options) ? s : part_of(s, options);
  }
  static HostGraph part_of(const HostGraph& s, const Options& options) {
    return is_factored(options) ? triangle_of(s, false) : testing::part_of(s, options.kind);
  }
  static HostGraph rows_of(int n, int length, const Options& options) {
    return is_factored(options) ? FsaiCases::rows_of(n, length, options) : rows_of_length(n, length);
  }
  static void expect_rows(const HostMatrix<double>& a, const Inverse<double>& m, const Options& options,
                          double tolerance, const std::vector<int>& rows) {
    if (is_factored(options))
      FsaiCases::expect_rows(a, m, options, tolerance, rows);
    else
      expect_reference_isai(testing::part_of(a, options.kind), m[0], tolerance, rows);
  }
  static void expect_reference(const HostMatrix<double>& a, const Inverse<double>& m, const Options& options,
                               Arithmetic arithmetic) {
    if (is_factored(options)) return FsaiCases::expect_reference(a, m, options, arithmetic);
    const bool of_floats = arithmetic == Arithmetic::of_floats;
    const double tolerance = arithmetic == Arithmetic::in_single ? 2e-3 : of_floats ? 1e-4 : 1e-10;
    ASSERT_NO_FATAL_FAILURE(expect_rows(a, m, options, tolerance, {}));
    if (arithmetic == Arithmetic::in_double)
      expect_inverse_on_pattern(testing::part_of(a, options.kind), m[0], 1e-10);
  }
  static void expect_finite_inverse(const Inverse<double>& m, const Options&) { expect_finite_rows(m[0]); }
  template <class Space>
  static std::vector<std::string> kernels(const Options& options) {
    if (is_factored(options)) return FsaiCases::kernels<Space>(options);
    return {"prekond::isai::numeric::solve_rows"};
  }

  static Failing failing(const Options& options) {
    if (is_factored(options)) return FsaiCases::failing(options);
    const HostMatrix<double> a = generated("convection_diffusion3d:6");
    return pattern_beyond_its_budget(a, {.power = 3, .prefilter = 0.001, .relaxation_steps = 1},
                                     reference_power(basis(prefiltered(a, 0.001), options), 3));
  }
  static Counted<Options> counted() {
    const double flops = 5 * (2 * 125 / 3.0 + 2 * 25);
    return {five_dense_rows(), {}, 25, flops, flops};
  }
  static OptionMap own_options() {
    return {{"kind", std::string("upper")},
            {"unit_diagonal", true},
            {"relaxation_steps", std::int64_t(2)},
            {"setup_scalar", std::string("single")}};
  }
  static std::vector<Refusal> own_refusals() {
    return {{{{"kind", std::string("lover")}}, {"kind", "lower"}},
            {{{"relaxation_steps", std::int64_t(-1)}}, {"relaxation_steps"}},
            {{{"unit_diagonal", true}}, {"kind = lower or upper"}}};
  }
  static std::vector<std::vector<Improvement>> improvements() {
    const OptionMap first = {{"power", std::int64_t(1)}, {"relaxation_steps", std::int64_t(0)}};
    return {{{first, 0.75}, {{{"power", std::int64_t(2)}}, 1}},
            {{first, 0.75}, {{{"relaxation_steps", std::int64_t(1)}}, 1}}};
  }
  /// Matrices of the batched ISAI's examples, and others on which the diagonal converges.
  static RealMatrices real_matrices() {
    return {
        {"general/convection_diffusion2d.mtx", "general/skewed_rows.mtx", "general/circuit.mtx"},
        {"general/pivtol.mtx", "general/bfwb62.mtx", "general/bfwa62.mtx", "general/orsirr_1.mtx.gz",
         "general/sherman4.mtx.gz", "general/pde900.mtx.gz", "general/jpwh_991.mtx", "general/add32.mtx.gz",
         "general/bfwa398.mtx", "general/poisson2D.mtx.gz", "general/epb0.mtx.gz", "symmetric/bfwb62.mtx"},
        {},
        1};
  }
};

/// The variants with every power, every threshold and every precision.
template <class Cases>
std::vector<typename Cases::Options> settings(const std::vector<int>& powers,
                                              const std::vector<double>& thresholds = {0},
                                              const std::vector<int>& relaxation_steps = {0}) {
  std::vector<typename Cases::Options> all;
  for (const auto& options : Cases::variants())
    for (const int power : powers)
      for (const double tau : thresholds)
        for (const Precision precision : precisions)
          for (const int steps : relaxation_steps)
            if (constexpr bool relaxes = requires { options.relaxation_steps; }; relaxes || steps == 0)
              all.push_back(chosen(options, {.power = power,
                                             .prefilter = tau,
                                             .postfilter = tau,
                                             .precision = precision,
                                             .relaxation_steps = steps}));
  return all;
}

/// The options that are not the default.
template <class Options>
std::string text_of(Options options) {
  Options defaults;
  const OptionMap usual = OptionFields::of(defaults).values();
  std::string text = Options::name;
  for (const auto& [name, value] : OptionFields::of(options).values())
    if (value != usual.at(name)) text += " " + name + "=" + to_string(value);
  return text;
}

inline std::vector<double> sines(int n, int k = 0) {
  std::vector<double> x(n);
  for (int i = 0; i < n; ++i) x[i] = std::sin(1.0 + i + 300 * k);
  return x;
}

/// The parameter of a typed test.
template <class SpaceType, class CasesType>
struct On {
  using Space = SpaceType;
  using Cases = CasesType;
};
/// Every method on every space that the library is compiled for.
template <class... Cases>
using OnTestSpaces =
    std::conditional_t<std::is_same_v<Kokkos::DefaultExecutionSpace, Kokkos::DefaultHostExecutionSpace>,
                       ::testing::Types<On<Kokkos::DefaultExecutionSpace, Cases>...>,
                       ::testing::Types<On<Kokkos::DefaultExecutionSpace, Cases>...,
                                        On<Kokkos::DefaultHostExecutionSpace, Cases>...>>;
struct MethodNames {
  template <class Type>
  static std::string GetName(int) {
    return std::string(Type::Cases::Options::name) + "_" + Type::Space::name();
  }
};

/// An inverse of a matrix by a method.
template <class Cases, class Space, class Scalar>
Inverse<Scalar> invert(const HostMatrix<Scalar>& a, const typename Cases::Options& options,
                       Report* report = nullptr, const HostGraph* pattern = nullptr,
                       const Space& space = {}) {
  return Cases::inverse_of(*set_up<Cases::template Method, Space>(a, options, report, pattern, space));
}

template <class Cases>
HostGraph expected_pattern(const HostGraph& s, int power, const typename Cases::Options& options) {
  return Cases::part_of(reference_power(Cases::basis(s, options), power), options);
}

/// Entries as reports count them: a symmetric inverse has those of one factor.
template <class Scalar>
std::int64_t nnz_of(const Inverse<Scalar>& m, const auto& options) {
  std::size_t nnz = m[0].nnz();
  if (!options.properties().needs_spd && m.size() > 1) nnz += m[1].nnz();
  return static_cast<std::int64_t>(nnz);
}

}  // namespace prekond::testing
