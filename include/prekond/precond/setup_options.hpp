// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Options that several preconditioners have.
#include <prekond/core/error.hpp>
#include <prekond/matrix/matrix_format.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace prekond {

enum class Precision { single_precision, double_precision };
/// How a later numeric phase uses the pattern that was found: it finds a new one, keeps it, or begins with it
/// and grows further. The last is for algorithms that grow patterns.
enum class Reuse { none, pattern, extend };
/// Precision in which the values of a factor are stored; `full` is the matrix's precision.
enum class Storage { full, single_precision, half, bfloat16 };

inline std::vector<std::pair<std::string, Precision>> precision_choices() {
  return {{"single", Precision::single_precision}, {"double", Precision::double_precision}};
}
inline std::vector<std::pair<std::string, Reuse>> reuse_choices() {
  return {{"pattern", Reuse::pattern}, {"none", Reuse::none}};
}
inline std::vector<std::pair<std::string, Reuse>> growing_reuse_choices() {
  return {{"pattern", Reuse::pattern}, {"none", Reuse::none}, {"extend", Reuse::extend}};
}

/// \throws OptionError for `Reuse::extend`, of a preconditioner whose pattern is given in advance
inline void refuse_growing_pattern(const std::string& name, Reuse reuse) {
  if (reuse == Reuse::extend)
    throw OptionError(
        name + ": reuse = extend is for patterns that grow, those of adaptive_fsai; choose pattern or none");
}

inline std::vector<std::pair<std::string, Storage>> storage_choices() {
  return {{"full", Storage::full},
          {"single", Storage::single_precision},
          {"half", Storage::half},
          {"bfloat16", Storage::bfloat16}};
}

template <class Visitor>
void describe_storage_format(Visitor& visit, MatrixFormat& format) {
  visit("storage_format", format, stored_format_choices(),
        "format in which the inverse is stored and applied; auto chooses by the pattern, which it reads once "
        "more");
}

/// The options that the setups of the sparse approximate inverses share.
struct SetupOptions {
  Precision setup_scalar = Precision::single_precision;
  Storage storage = Storage::full;
  MatrixFormat storage_format = MatrixFormat::csr;
  Reuse reuse = Reuse::pattern;
  /// Bytes of temporary memory in which systems are solved at the same time, at least one of them. Results do
  /// not depend on it. By name only adaptive_fsai has it.
  std::int64_t workspace_budget = std::int64_t(256) << 20;

  template <class Visitor>
  void describe(Visitor& visit, const std::vector<std::pair<std::string, Reuse>>& reuses = reuse_choices()) {
    visit(
        "setup_scalar", setup_scalar, precision_choices(),
        "precision of the local systems; single is faster, double is for ill-conditioned matrices. A system "
        "that breaks down in single precision is solved in double");
    visit("storage", storage, storage_choices(),
          "precision in which the inverse is stored and applied; lower ones make an application read less. "
          "full is the matrix's precision; half loses entries below 2^-28 of the largest in their row");
    describe_storage_format(visit, storage_format);
    visit(
        "reuse", reuse, reuses,
        "use of the pattern in later numeric phases; pattern keeps it and finds new values only, none finds "
        "it again, and extend, where a method has it, begins with it and grows further");
  }
};

/// The bytes of temporary memory of a setup that solves a system for each row: `slab`, in which systems are
/// solved at the same time, at least one of them, and the most that one may take.
struct WorkspaceLimits {
  std::int64_t slab, system;
};

/// The options of a setup whose pattern is given in advance.
struct StaticSetupOptions : SetupOptions {
  std::int64_t memory_budget = std::int64_t(16) << 30;

  WorkspaceLimits workspace_limits() const { return {workspace_budget, memory_budget}; }

  template <class Visitor>
  void describe(Visitor& visit) {
    SetupOptions::describe(visit);
    visit(
        "memory_budget", memory_budget, std::int64_t(1) << 10, std::int64_t(1) << 50,
        "bytes that the pattern may take, and the local system of a row or column; the setup refuses to take "
        "more");
    visit.formerly("pattern_bytes");
  }
};

}  // namespace prekond
