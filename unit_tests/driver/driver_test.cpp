// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The command `prekond`, run as a process: exit codes, messages, files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/devices.hpp>
#include <prekond/core/impl/multiply_add.hpp>
#include <prekond/core/views.hpp>

#include <algorithm>
#include <cmath>

#include "driver_fixture.hpp"

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// ------------------------------------------------------------------------------------------------ errors

struct ErrorCase {
  const char* name;
  std::vector<std::string> arguments;
  int code;
  std::vector<std::string> texts;  ///< parts of the message
};

void PrintTo(const ErrorCase& error, std::ostream* out) {
  *out << error.name;
}

class DriverErrorTest : public DriverTest, public ::testing::WithParamInterface<ErrorCase> {};

TEST_P(DriverErrorTest, ExitsWithCodeAndOneLine) {
  const ErrorCase& expected = GetParam();
  const Result result = run(expected.arguments);
  EXPECT_EQ(result.code, expected.code);
  EXPECT_THAT(result.err, StartsWith("prekond: error: "));
  EXPECT_EQ(lines_of(result.err).size(), 1u) << result.err;
  EXPECT_TRUE(!result.err.empty() && result.err.back() == '\n');
  for (const auto& text : expected.texts) EXPECT_THAT(result.err, HasSubstr(text));
}

const std::vector<ErrorCase> data_errors = {
    {"missing_file", {"solve", "missing.mtx"}, 3, {"missing.mtx"}},
    {"folder", {"solve", "."}, 3, {"directory"}},
    {"wrong_header", {"solve", "bad_header.mtx"}, 3, {"bad_header.mtx:1"}},
    {"index_out_of_range", {"solve", "bad_index.mtx"}, 3, {"bad_index.mtx:4"}},
    {"more_entries", {"solve", "more_entries.mtx"}, 3, {"more_entries.mtx:5"}},
    {"fewer_entries", {"solve", "fewer_entries.mtx"}, 3, {"fewer_entries.mtx"}},
    {"nan_entry", {"solve", "nan.mtx"}, 3, {"nan.mtx:4"}},
    {"not_square", {"solve", "rectangular.mtx"}, 3, {"rectangular.mtx", "square"}},
    {"not_symmetric",
     {"solve", "nonsymmetric.mtx", "--solver", "cg"},
     3,
     {"nonsymmetric.mtx", "not symmetric"}},
    {"zero_diagonal", {"solve", "zero_diagonal.mtx"}, 3, {"diagonal", "row 2"}},
    {"negative_diagonal", {"solve", "negative_diagonal.mtx", "--solver", "cg"}, 3, {"diagonal", "-3"}},
    {"missing_diagonal", {"solve", "missing_diagonal.mtx", "--solver", "cg"}, 3, {"diagonal", "missing"}},
    {"empty_matrix", {"solve", "empty.mtx"}, 3, {"empty"}},
    {"rhs_length", {"solve", "spd.mtx", "--rhs", "vector3.mtx"}, 3, {"vector3.mtx", "length 2"}},
    {"x0_length", {"solve", "spd.mtx", "--x0", "vector3.mtx"}, 3, {"vector3.mtx", "length 2"}},
    {"rhs_missing", {"solve", "spd.mtx", "--rhs", "missing.mtx"}, 3, {"missing.mtx"}},
    {"report_folder", {"solve", "spd.mtx", "--report", "nowhere/r.json"}, 3, {"nowhere"}},
    {"history_folder", {"solve", "spd.mtx", "--history", "nowhere/h.csv"}, 3, {"nowhere"}},
    {"report_is_folder", {"solve", "spd.mtx", "--report", "."}, 3, {"folder"}},
    {"solution_folder", {"solve", "spd.mtx", "--solution", "nowhere/x.mtx"}, 3, {"nowhere"}},
    {"generate_folder", {"generate", "poisson2d:3", "-o", "nowhere/a.mtx"}, 3, {"nowhere"}},
    {"info_missing_file", {"info", "missing.mtx"}, 3, {"missing.mtx"}},
    {"not_hermitian",
     {"solve", "not_hermitian.mtx", "--solver", "cg"},
     3,
     {"not_hermitian.mtx: the matrix is not Hermitian", "0 + 1i"}},
    {"imaginary_diagonal",
     {"solve", "imaginary_diagonal.mtx", "--precond", "fsai"},
     3,
     {"diagonal entry of row 2 is 2 + 1i", "Hermitian"}},
    {"complex_line", {"solve", "complex_line.mtx"}, 3, {"complex_line.mtx:4", "imaginary part"}},
    {"info_complex_line", {"info", "complex_line.mtx"}, 3, {"complex_line.mtx:4"}},
    {"compare_not_hermitian", {"compare", "not_hermitian.mtx", "--precond", "none"}, 3, {"not Hermitian"}},
    {"compare_not_symmetric", {"compare", "nonsymmetric.mtx", "--precond", "none"}, 3, {"not symmetric"}},
    {"compare_needs_symmetry",
     {"compare", "nonsymmetric.mtx", "--solver", "gmres", "--precond", "fsai,ic0"},
     3,
     {"prekond: error: nonsymmetric.mtx: the matrix is not symmetric"}},
};

const std::vector<ErrorCase> command_line_errors = {
    {"no_command", {}, 2, {"--help"}},
    {"no_command_but_a_flag", {"--rtol", "1"}, 2, {"solve, config, compare"}},
    {"unknown_command", {"solv"}, 2, {"'solv'", "'solve'"}},
    {"no_matrix", {"solve"}, 2, {"MATRIX", "--generate"}},
    {"two_matrices", {"solve", "spd.mtx", "--generate", "poisson2d:3"}, 2, {"leave one out"}},
    {"extra_argument", {"solve", "spd.mtx", "more"}, 2, {"'more'"}},
    {"unknown_flag", {"solve", "spd.mtx", "--max-iter", "3"}, 2, {"--max-iter'", "--max-iters"}},
    {"missing_value", {"solve", "spd.mtx", "--rtol"}, 2, {"--rtol"}},
    {"unknown_solver", {"solve", "spd.mtx", "--solver", "gg"}, 2, {"'gg'", "'cg'"}},
    {"unknown_solver_option", {"solve", "spd.mtx", "--solver", "cg", "-s", "restart=3"}, 2, {"'restart'"}},
    {"preconditioner_of_a_package",
     {"solve", "spd.mtx", "--precond", "boomeramg"},
     2,
     {"there is no preconditioner 'boomeramg'; did you mean 'amg'?"}},
    {"group_of_options",
     {"solve", "spd.mtx", "--precond", "ilu0", "-p", "solve=jacobi"},
     2,
     {"'ilu0' has no option 'solve'; did you mean 'solve.method', "}},
    {"precond_of_reals",
     {"solve", "complex_general.mtx", "--solver", "gmres", "--precond", "ILU"},
     2,
     {"'ilu0' takes real matrices", "is one of none, jacobi, fsai, "}},
    {"unknown_preconditioner", {"solve", "spd.mtx", "--precond", "jacoby"}, 2, {"'jacoby'", "'jacobi'"}},
    {"unknown_precond_option",
     {"solve", "spd.mtx", "--precond", "adaptive_fsai", "-p", "max_step=3"},
     2,
     {"'max_step'", "'max_steps'"}},
    {"option_out_of_range",
     {"solve", "spd.mtx", "--precond", "adaptive_fsai", "-p", "max_steps=-1"},
     2,
     {"max_steps", "range"}},
    {"option_of_wrong_type",
     {"solve", "spd.mtx", "--precond", "adaptive_fsai", "-p", "max_steps=many"},
     2,
     {"max_steps", "'many'"}},
    {"option_not_a_choice",
     {"solve", "spd.mtx", "--precond", "adaptive_fsai", "-p", "setup_scalar=half"},
     2,
     {"single | double", "'half'"}},
    {"pair_twice",
     {"solve", "spd.mtx", "-p", "power=2", "-p", "power=3"},
     2,
     {"-p gives 'power' twice, '2' and '3'"}},
    {"pair_of_the_solver_twice",
     {"solve", "spd.mtx", "-s", "flexible=true", "-s", "flexible=true"},
     2,
     {"-s gives 'flexible' twice"}},
    {"pair_of_a_row_twice",
     {"compare", "spd.mtx", "--precond", "fsai:power=1:power=2"},
     2,
     {"gives 'power' twice"}},
    {"pair_of_a_batch_twice",
     {"batch", "--generate", "stencil3:5,batch=3,batch=4"},
     2,
     {"--generate gives 'batch' twice"}},
    {"pair_without_equals", {"solve", "spd.mtx", "-p", "max_steps"}, 2, {"key=value", "'max_steps'"}},
    {"rtol_not_a_number", {"solve", "spd.mtx", "--rtol", "small"}, 2, {"rtol", "'small'"}},
    {"rtol_negative", {"solve", "spd.mtx", "--rtol=-1"}, 2, {"rtol", "range"}},
    {"rtol_nan", {"solve", "spd.mtx", "--rtol", "nan"}, 2, {"rtol"}},
    {"max_iters_fraction", {"solve", "spd.mtx", "--max-iters", "1.5"}, 2, {"max_iters"}},
    {"devices_zero", {"solve", "spd.mtx", "--devices", "0"}, 2, {"option 'devices' = 0 is out of its range"}},
    {"devices_of_info", {"info", "spd.mtx", "--devices", "1"}, 2, {"no option '--devices'"}},
    {"more_devices_than_there_are",
     {"solve", "missing.mtx", "--precond", "fsai", "--devices", "999"},
     2,
     {"--devices: 999 devices were asked for"}},
    {"compare_on_more_devices",
     {"compare", "missing.mtx", "--precond", "jacobi,fsai", "--devices", "999"},
     2,
     {"--devices: 999 devices were asked for"}},
    {"repeat_zero", {"solve", "spd.mtx", "--repeat", "0"}, 2, {"repeat"}},
    {"spmv_slip",
     {"solve", "spd.mtx", "--spmv", "kokos"},
     2,
     {"auto|csr|sell|dia|jad|bcsr|native|csr_scalar|csr_vector|kokkoskernels", "'kokos'"}},
    {"spmv_of_complex", {"solve", "hermitian.mtx", "--spmv", "kokkoskernels"}, 2, {"--spmv kokkoskernels"}},
    {"option_of_complex",
     {"solve", "hermitian.mtx", "--precond", "fsai", "-p", "powr=2"},
     2,
     {"'powr'", "'power'"}},
    {"complex_generator_option", {"solve", "--generate", "magnetic3d:5,fase=1"}, 2, {"'phase'"}},
    {"rhs_slip", {"solve", "spd.mtx", "--rhs", "one"}, 2, {"'one'", "a_ones"}},
    {"unknown_generator", {"solve", "--generate", "poisson2e:5"}, 2, {"'poisson2e'", "'poisson2d'"}},
    {"generator_size", {"solve", "--generate", "poisson2d:five"}, 2, {"'five'"}},
    {"generator_no_size", {"solve", "--generate", "poisson2d"}, 2, {"SIZE"}},
    {"generator_option", {"solve", "--generate", "anisotropic2d:5,epsilom=2"}, 2, {"'epsilon'"}},
    {"config_key", {"solve", "--config", "unknown_key.json"}, 2, {"unknown_key.json", "'slver'", "'solver'"}},
    {"config_malformed", {"solve", "--config", "malformed.json"}, 2, {"malformed.json:2:10"}},
    {"config_type", {"solve", "--config", "bad_type.json"}, 2, {"bad_type.json", "'rtol'"}},
    {"config_missing", {"solve", "--config", "missing.json"}, 2, {"missing.json"}},
    {"kokkos_threads", {"solve", "spd.mtx", "--kokkos-num-threads=0"}, 2, {"--kokkos-num-threads"}},
    {"compare_unknown", {"compare", "spd.mtx", "--precond", "none,jacoby"}, 2, {"'jacobi'"}},
    {"compare_pairs", {"compare", "spd.mtx", "-p", "max_steps=2"}, 2, {"NAME:key=value"}},
    {"compare_option",
     {"compare", "spd.mtx", "--precond", "adaptive_fsai:max_step=2"},
     2,
     {"'max_step'", "'max_steps'"}},
    {"nonsymmetric_precond_for_cg",
     {"solve", "spd.mtx", "--solver", "cg", "--precond", "nonsymmetric_fsai"},
     2,
     {"the solver 'cg'", "'nonsymmetric_fsai' is not symmetric", "jacobi, fsai, adaptive_fsai",
      "bicgstab, gmres, fgmres, idr"}},
    {"isai_for_cg",
     {"solve", "spd.mtx", "--solver", "cg", "--precond", "isai"},
     2,
     {"the solver 'cg'", "'isai' with kind=general is not symmetric; ",
      "none, jacobi, fsai, adaptive_fsai, isai with kind=spd,", "bicgstab, gmres, fgmres, idr"}},
    {"triangular_isai_for_cg",
     {"solve", "missing.mtx", "--solver", "cg", "--precond", "isai", "-p", "kind=lower",
      "unit_diagonal=true"},
     2,
     {"'isai' with kind=lower is not symmetric"}},
    {"spai_for_cg",
     {"solve", "spd.mtx", "--solver", "cg", "--precond", "spai"},
     2,
     {"'spai' is not symmetric", "isai with kind=spd"}},
    {"variable_for_cg",
     {"solve", "spd.mtx", "--solver", "cg", "--precond", "amg", "-p", "cycle=k"},
     2,
     {"'amg' is another operator for another vector with these options", "the solver 'cg'",
      "fgmres, richardson, for symmetric positive definite matrices cg with flexible=true",
      "cycle=v, cycle=w"}},
    {"variable_for_gmres",
     {"solve", "spd.mtx", "--solver", "gmres", "--precond", "amg", "-p", "cycle=k", "pre_sweeps=0"},
     2,
     {"the solver 'gmres'", "fgmres, richardson; or for 'amg' one of cycle=v, cycle=w"}},
    {"compare_isai",
     {"compare", "spd.mtx", "--precond", "jacobi,isai:kind=spd,isai:kind=upper"},
     2,
     {"'isai' with kind=upper is not symmetric"}},
    {"complex_isai",
     {"solve", "hermitian.mtx", "--precond", "isai", "--solver", "gmres"},
     2,
     {"for complex matrices"}},
    {"compare_nonsymmetric",
     {"compare", "spd.mtx", "--precond", "jacobi,nonsymmetric_fsai:power=2"},
     2,
     {"the solver 'cg'", "'nonsymmetric_fsai' is not symmetric", "jacobi, fsai, adaptive_fsai"}},
    {"solver_option_choice",
     {"solve", "spd.mtx", "--solver", "gmres", "-s", "side=above"},
     2,
     {"side", "right", "left"}},
    {"solver_option_slip",
     {"solve", "spd.mtx", "--solver", "idr", "-s", "kapa=0.5"},
     2,
     {"'kapa'", "'kappa'"}},
    {"solver_option_range", {"solve", "spd.mtx", "--solver", "gmres", "-s", "restart=0"}, 2, {"restart"}},
    {"list_kind", {"list", "solver"}, 2, {"'solvers'"}},
    {"list_name", {"list", "solvers", "cq"}, 2, {"'cg'"}},
    {"generate_no_output", {"generate", "poisson2d:3"}, 2, {"--output"}},
    {"generate_unknown", {"generate", "poisson:3", "-o", "a.mtx"}, 2, {"'poisson'"}},
};

const std::vector<ErrorCase> solve_errors = {
    {"max_iters",
     {"solve", "--generate", "poisson2d:20", "--max-iters", "1"},
     4,
     {"not converged in 1 iteration", "; try: prekond solve --generate poisson2d:20\n"}},
    {"max_iters_quiet",
     {"solve", "--generate", "poisson2d:20", "--max-iters", "1", "-q"},
     4,
     {"; try: prekond solve --generate poisson2d:20 --quiet\n"}},
    {"indefinite",
     {"solve", "indefinite.mtx", "--solver", "cg", "--precond", "none", "--rhs", "random"},
     5,
     {"breakdown_not_spd"}},
    {"overflow",
     {"solve", "huge_values.mtx", "--solver", "cg", "--precond", "none", "--rhs", "a_ones"},
     5,
     {"not finite"}},
    {"bicgstab_breakdown",
     {"solve", "skew.mtx", "--rhs", "ones", "--solver", "bicgstab", "--precond", "none"},
     5,
     {"bicgstab broke down", "breakdown_omega", "gmres"}},
    {"gmres_breakdown",
     {"solve", "nilpotent.mtx", "--rhs", "first2.mtx", "--solver", "gmres", "--precond", "none"},
     5,
     {"breakdown_arnoldi", "singular"}},
    {"idr_max_iters",
     {"solve", "--generate", "convection_diffusion3d:6", "--solver", "idr", "--precond", "none",
      "--max-iters", "3"},
     4,
     {"idr has not converged in 3 iterations"}},
    {"richardson_diverges",
     {"solve", "--generate", "poisson2d:5", "--solver", "richardson", "--precond", "none", "--max-iters",
      "9000"},
     5,
     {"richardson diverged", "choose --solver gmres"}},
};

std::string case_name(const ::testing::TestParamInfo<ErrorCase>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Data, DriverErrorTest, ::testing::ValuesIn(data_errors), case_name);
INSTANTIATE_TEST_SUITE_P(CommandLine, DriverErrorTest, ::testing::ValuesIn(command_line_errors), case_name);
INSTANTIATE_TEST_SUITE_P(Solve, DriverErrorTest, ::testing::ValuesIn(solve_errors), case_name);

TEST_F(DriverTest, TruncatedGzip) {
  ASSERT_EQ(run({"generate", "poisson2d:30", "-o", "whole.mtx.gz"}).code, 0);
  const std::string whole = read_file(file("whole.mtx.gz"));
  write("truncated.mtx.gz", whole.substr(0, whole.size() / 2));
  const Result result = run({"solve", "truncated.mtx.gz"});
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(lines_of(result.err).size(), 1u);
  EXPECT_THAT(result.err, HasSubstr("truncated.mtx.gz"));
}

TEST_F(DriverTest, RefusedInputLeavesNoReport) {
  EXPECT_EQ(run({"solve", "nonsymmetric.mtx", "--solver", "cg", "--report", "none.json"}).code, 3);
  EXPECT_FALSE(fs::exists(file("none.json")));
}

// ------------------------------------------------------------------------------------------------ help

TEST_F(DriverTest, HelpAndVersion) {
  const std::vector<std::vector<std::string>> questions = {
      {"--help"},         {"--version"},      {"solve", "--help"},   {"compare", "--help"},
      {"info", "--help"}, {"list", "--help"}, {"generate", "--help"}};
  for (const auto& question : questions) {
    const Result result = run(question);
    EXPECT_EQ(result.code, 0) << question.front();
    EXPECT_FALSE(result.out.empty());
    EXPECT_EQ(result.err, "");
  }
  EXPECT_THAT(run({"--version"}).out, StartsWith("prekond "));
  const std::string help = run({"solve", "--help"}).out;
  for (const char* option :
       {"--rhs", "--x0", "--solver", "-s", "--precond", "-p", "--rtol", "--atol", "--max-iters", "--config",
        "--report", "--history", "--solution", "--repeat", "--quiet", "--generate", "--spmv"}) {
    EXPECT_THAT(help, HasSubstr(option));
  }
}

TEST_F(DriverTest, HelpIsInGroupsAndACommand) {
  const std::string help = run({"solve", "--help"}).out;
  std::size_t at = 0;
  for (const char* part : {"\nProblem:", "--generate ", "--rhs ", "\nMethods:", "--solver ", "--precond ",
                           "--order ", "-p,", "\nStopping:", "--rtol ", "\nExecution:", "--repeat ",
                           "\nOutput:", "--report ", "-v,", "\nOther:", "--config "}) {
    const std::size_t found = help.find(part, at);
    ASSERT_NE(found, std::string::npos) << part << " in\n" << help;
    at = found;
  }
  EXPECT_THAT(help, Not(HasSubstr("OPTIONS:")));
  for (const char* command : {"solve", "compare", "info", "batch", "list", "generate"})
    EXPECT_EQ(run({"help", command}).out, run({command, "--help"}).out) << command;
  EXPECT_EQ(run({"help"}).out, run({"--help"}).out);
  const Result slip = run({"help", "solv"});
  EXPECT_EQ(slip.code, 2);
  EXPECT_THAT(slip.err, HasSubstr("did you mean 'solve'"));
}

// ------------------------------------------------------------------------------------------------ names

TEST_F(DriverTest, NamesAreTakenWithoutRegardToCaseAndByOtherWords) {
  for (const char* precond : {"AMG", "Multigrid", "sa-amg"}) {
    const Json report = report_of({"solve", "--generate", "Poisson2D:9", "--solver", "PCG", "--precond",
                                   precond, "-p", "Smoother.KIND=Fourth", "PRE-SWEEPS=2", "post_sweeps=2",
                                   "--rhs", "A_Ones", "--order", "RCM"});
    EXPECT_EQ(report["preconditioner"]["name"], "amg") << precond;
    EXPECT_EQ(report["preconditioner"]["options"]["smoother.kind"], "fourth");
    EXPECT_EQ(report["preconditioner"]["options"]["pre_sweeps"], 2);
    EXPECT_EQ(report["solver"]["name"], "cg");
    EXPECT_EQ(report["rhs"], "a_ones");
    EXPECT_EQ(report["order"]["name"], "rcm");
  }
  write("names.json",
        R"({"Generate": "poisson2d:6", "Precond": "gs", "precond-options": {"Direction": "SYMMETRIC"}})");
  const Json report = report_of({"solve", "--config", "names.json", "--precond", "Gauss-Seidel"});
  EXPECT_EQ(report["preconditioner"]["name"], "multicolor_gs");
  EXPECT_EQ(report["preconditioner"]["options"]["direction"], "symmetric")
      << "the same method keeps its options";
  const Json rows = report_of({"compare", "spd.mtx", "--precond", "Diagonal,ICC:Shift=0"});
  EXPECT_EQ(rows[0]["preconditioner"]["name"], "jacobi");
  EXPECT_EQ(rows[1]["preconditioner"]["name"], "ic0");
  const Json batch =
      report_of({"batch", "--generate", "tridiagonal:9,batch=2", "--solver", "BCGS", "--precond", "ILU"});
  EXPECT_EQ(batch["preconditioner"]["name"], "ilu0");
  EXPECT_EQ(batch["solver"]["name"], "bicgstab");
  EXPECT_THAT(run({"list", "Preconditioners", "multigrid"}).out,
              AllOf(StartsWith("amg: "), HasSubstr("also called multigrid, ")));
}

/// Defaults of the nesting method exclude nothing that the user sets of the nested one.
TEST_F(DriverTest, OptionsOfANestedMethod) {
  for (const char* kind : {"first", "fourth", "fourth_optimized", "least_squares", "neumann"}) {
    const Json report = report_of({"solve", "--generate", "poisson3d:8", "--precond", "amg", "-p",
                                   std::string("smoother.kind=") + kind});
    EXPECT_EQ(report["preconditioner"]["options"]["smoother.degree"], 2) << kind;
    EXPECT_EQ(report["preconditioner"]["options"]["smoother.eigenvalue_ratio"],
              std::string("first") == kind ? 7 : 30);
  }
  const Result given = run({"solve", "--generate", "poisson3d:8", "--precond", "amg", "-p",
                            "smoother.kind=fourth", "smoother.eigenvalue_ratio=5"});
  EXPECT_EQ(given.code, 2);
  EXPECT_THAT(given.err, HasSubstr("leave it out"));
}

// ------------------------------------------------------------------------------------------------ solve

/// A row without entries, or with zeros only.
TEST_F(DriverTest, AnEmptyRow) {
  std::string text = "%%MatrixMarket matrix coordinate real general\n30 30 30\n18 18 0\n";
  for (int i = 1; i <= 30; ++i)
    if (i != 18) text += std::to_string(i) + " " + std::to_string(i) + " 2\n";
  write("zero_row.mtx", text);
  write("empty_row.mtx", text.replace(text.find("30 30 30"), 8, "30 30 29").erase(text.find("18 18 0"), 8));
  for (const std::string matrix : {"zero_row.mtx", "empty_row.mtx"}) {
    for (const std::string precond : {"none", "jacobi", "ilu0", "amg", "adaptive_fsai"})
      for (const std::string solver : {"cg", "gmres"}) {
        const Result result = run({"solve", matrix, "--precond", precond, "--solver", solver});
        if (result.code == 2) continue;  // a nonsymmetric preconditioner for cg
        EXPECT_EQ(result.code, 3) << precond << solver;
        EXPECT_THAT(result.err, HasSubstr(matrix + ": row 18 of A is empty: A is singular"));
      }
    EXPECT_THAT(run({"info", matrix}).out, HasSubstr("row 18 of A is empty: A is singular"));
    // b = A 1 is zero there, as A x is.
    const Json report =
        report_of({"solve", matrix, "--rhs", "a_ones", "--solver", "gmres", "--precond", "jacobi"});
    EXPECT_EQ(report["solver"]["converged"], true);
    EXPECT_THAT(report["notes"][0].get<std::string>(), StartsWith("row 18 of A is empty: A is singular"));
    EXPECT_EQ(run({"compare", matrix, "--precond", "none,jacobi"}).code, 3);
  }
  EXPECT_THAT(run({"info", "spd.mtx"}).out, Not(HasSubstr("is empty")));
}

/// A graph Laplacian on a path of n nodes, or of two paths: A 1 = 0.
std::string laplacian(int n, int nodes_of_first) {
  std::string entries;
  int count = 0;
  for (int i = 1; i <= n; ++i) {
    const bool has_before = i > 1 && i != nodes_of_first + 1, has_next = i < n && i != nodes_of_first;
    entries += std::to_string(i) + " " + std::to_string(i) + (has_before && has_next ? " 0.2\n" : " 0.1\n");
    ++count;
    if (!has_before) continue;
    entries += std::to_string(i) + " " + std::to_string(i - 1) + " -0.1\n";
    ++count;
  }
  return "%%MatrixMarket matrix coordinate real symmetric\n" + std::to_string(n) + " " + std::to_string(n) +
         " " + std::to_string(count) + "\n" + entries;
}

TEST_F(DriverTest, TheDefaultRightHandSideIsRandomAndInTheRangeOfASingularMatrix) {
  EXPECT_EQ(report_of({"solve", "spd.mtx"})["rhs"], "random");
  EXPECT_TRUE(report_of({"solve", "spd.mtx"})["notes"].empty());
  for (const int nodes_of_first : {40, 13}) {
    write("neumann.mtx", laplacian(40, nodes_of_first));
    for (const std::string precond : {"none", "jacobi", "ic0"}) {
      const Json report = report_of({"solve", "neumann.mtx", "--precond", precond, "--rtol", "1e-8"});
      EXPECT_LE(report["solver"]["true_relative_residual"].get<double>(), 1e-8) << precond << nodes_of_first;
      EXPECT_GT(report["solver"]["iterations"], 0) << "b is not zero";
      EXPECT_THAT(report["notes"][0].get<std::string>(), HasSubstr("rows of A sum to zero: A is singular"));
    }
  }
  const Json same = report_of({"solve", "neumann.mtx", "--rhs", "random", "--rtol", "1e-8"});
  EXPECT_EQ(same["solver"]["true_relative_residual"],
            report_of({"solve", "neumann.mtx", "--rtol", "1e-8"})["solver"]["true_relative_residual"]);
  EXPECT_TRUE(report_of({"solve", "neumann.mtx", "--rhs", "a_ones"})["notes"].empty());
  // A right-hand side of one's own is left as it is, and `info` does not know it.
  const Result own = run({"solve", "neumann.mtx", "--rhs", "ones", "--report", "own.json"});
  EXPECT_EQ(own.code, 5);
  EXPECT_THAT(read_file(file("own.json")), HasSubstr("only where the mean of b"));
  EXPECT_THAT(run({"info", "neumann.mtx"}).out, HasSubstr("rows of A sum to zero: A is singular"));
  EXPECT_THAT(run({"info", "spd.mtx"}).out, Not(HasSubstr("sum to zero")));
}

TEST_F(DriverTest, OptionsMayFollowANameAsInCompare) {
  const Json report =
      report_of({"solve", "spd.mtx", "--precond", "iluk:level=2", "--solver", "gmres:restart=7"});
  EXPECT_EQ(report["preconditioner"]["name"], "iluk");
  EXPECT_EQ(report["preconditioner"]["options"]["level"], 2);
  EXPECT_EQ(report["solver"]["options"]["restart"], 7);
  EXPECT_EQ(report_of({"solve", "spd.mtx", "--precond", "ilut:p=3", "-p", "tau=0", "--solver",
                       "gmres"})["preconditioner"]["options"]["p"],
            3);
  write("colons.json", R"({"precond": "iluk:level=1"})");
  EXPECT_EQ(report_of({"solve", "spd.mtx", "--config", "colons.json", "--solver",
                       "gmres"})["preconditioner"]["options"]["level"],
            1);
  EXPECT_THAT(run({"solve", "spd.mtx", "--precond", "iluk:level=2", "-p", "level=1"}).err,
              HasSubstr("'level' is given twice"));
  // The command line wins over a config file in either form, and keeps its other options.
  const auto options_with = [&](const std::string& config, std::vector<std::string> words) {
    write("colons.json", config);
    words.insert(words.begin(), {"solve", "spd.mtx", "--config", "colons.json", "--solver", "gmres"});
    return report_of(words)["preconditioner"]["options"];
  };
  EXPECT_EQ(options_with(R"({"precond": "iluk:level=1"})", {"-p", "level=2"})["level"], 2);
  const Json kept = options_with(R"({"precond": "ilut", "precond_options": {"p": 4, "tau": 0.5}})",
                                 {"--precond", "ilut:tau=0"});
  EXPECT_EQ(kept["p"], 4);
  EXPECT_EQ(kept["tau"], 0);
  EXPECT_THAT(run({"solve", "spd.mtx", "--precond", "iluk:level"}).err,
              HasSubstr("--precond NAME: takes key=value"));
  EXPECT_EQ(run({"solve", "spd.mtx", "--precond", "iluk:nolevel=2"}).code, 2);
}

TEST_F(DriverTest, EveryRhsAndInitialVector) {
  ASSERT_EQ(run({"generate", "poisson2d:20", "-o", "poisson.mtx"}).code, 0);
  ASSERT_EQ(run({"solve", "poisson.mtx", "--rhs", "random", "--solution", "vector400.mtx"}).code, 0);
  for (const char* rhs : {"a_ones", "ones", "random", "vector400.mtx"}) {
    for (const char* x0 : {"zero", "precond", "vector400.mtx"}) {
      const Json report =
          report_of({"solve", "poisson.mtx", "--rhs", rhs, "--x0", x0, "--precond", "jacobi"});
      EXPECT_TRUE(report["solver"]["converged"].get<bool>()) << rhs << " " << x0;
      EXPECT_LE(report["solver"]["true_relative_residual"].get<double>(), 1e-6 * 1.01);
      EXPECT_EQ(report["rhs"], rhs);
      EXPECT_EQ(report["x0"], x0);
    }
  }
}

TEST_F(DriverTest, ComplexMatricesTakeTheComplexWay) {
  for (const char* matrix : {"hermitian.mtx", "complex_general.mtx"}) {
    for (const char* precond : {"none", "jacobi", "fsai", "adaptive_fsai"}) {
      const Json report = report_of({"solve", matrix, "--rhs", "a_ones", "--precond", precond, "--solution",
                                     "x.mtx", "--rtol", "1e-12"});
      EXPECT_TRUE(report["solver"]["converged"].get<bool>()) << matrix << " " << precond;
      EXPECT_EQ(report["matrix"]["field"], "complex");
      EXPECT_EQ(report["matrix"]["symmetric"], true);
      const auto lines = lines_of(read_file(file("x.mtx")));
      ASSERT_EQ(lines.size(), 5u);
      EXPECT_EQ(lines[0], "%%MatrixMarket matrix array complex general");
      for (int k = 3; k < 5; ++k) {
        std::istringstream numbers(lines[k]);
        double real = 0, imaginary = 1;
        numbers >> real >> imaginary;
        EXPECT_NEAR(real, 1, 1e-10);
        EXPECT_NEAR(imaginary, 0, 1e-10);
      }
    }
  }
  EXPECT_EQ(report_of({"solve", "spd.mtx"})["matrix"]["field"], "real");
  // A solution of one run is the right-hand side and the initial vector of others, real ones too.
  for (const char* vector : {"x.mtx", "vector2.mtx", "random"}) {
    const Json report = report_of({"solve", "hermitian.mtx", "--rhs", vector, "--precond", "adaptive_fsai",
                                   "--x0", vector == std::string("random") ? "precond" : vector});
    EXPECT_TRUE(report["solver"]["converged"].get<bool>()) << vector;
  }
}

TEST_F(DriverTest, ComplexModelProblem) {
  ASSERT_EQ(run({"generate", "magnetic3d:6", "-o", "magnetic.mtx"}).code, 0);
  EXPECT_THAT(read_file(file("magnetic.mtx")),
              StartsWith("%%MatrixMarket matrix coordinate complex hermitian\n"));
  const Json info = report_of({"info", "magnetic.mtx"});
  EXPECT_EQ(info["matrix"]["field"], "complex");
  EXPECT_EQ(info["matrix"]["symmetric"], true);
  EXPECT_EQ(info["matrix"]["rows"], 216);
  EXPECT_EQ(info["matrix"]["nnz"], 216 + 6 * 180);
  const Json reports =
      report_of({"compare", "magnetic.mtx", "--rhs", "random", "--precond",
                 "none,jacobi,fsai:storage=half,adaptive_fsai:setup_scalar=double:step_size=1"});
  ASSERT_EQ(reports.size(), 4u);
  for (const Json& report : reports)
    EXPECT_TRUE(report["solver"]["converged"].get<bool>()) << report["preconditioner"]["name"];
  EXPECT_LT(reports[3]["solver"]["iterations"], reports[0]["solver"]["iterations"]);
  const Json generated =
      report_of({"solve", "--generate", "magnetic3d:6", "--precond", "adaptive_fsai", "--history", "h.csv"});
  const Json read = report_of({"solve", "magnetic.mtx", "--precond", "adaptive_fsai", "--solver", "cg", "-s",
                               "single_reduction=true"});
  EXPECT_EQ(generated["solver"]["iterations"], read["solver"]["iterations"]);
  EXPECT_EQ(generated["preconditioner"]["nnz"], read["preconditioner"]["nnz"]);
}

/// The format of `auto` for few diagonals, see advise_format.
std::string format_of_a_grid() {
  const bool plain_host = is_host_space<Kokkos::DefaultExecutionSpace> && !has_fused_multiply_add;
  return plain_host ? "csr" : "dia";
}

TEST_F(DriverTest, ReportHasAllKeysWithTheirTypes) {
  const Json report = report_of({"solve", "--generate", "poisson2d:20", "--precond", "adaptive_fsai", "-p",
                                 "max_steps=4", "tolerance=0.01", "--kokkos-num-threads=2"});
  const Json& prekond = report["prekond"];
  for (const char* key : {"version", "backend", "kokkos", "device"})
    EXPECT_TRUE(prekond[key].is_string()) << key;
  EXPECT_TRUE(prekond["threads"].is_number_integer());
  EXPECT_EQ(prekond["processes"], 1);
  EXPECT_EQ(report["spmv"], "auto");
  EXPECT_EQ(report["product"]["format"], format_of_a_grid());
  EXPECT_THAT(report["product"]["reason"].get<std::string>(), HasSubstr("5 diagonals take"));
  for (const char* key : {"seconds", "apply_seconds"})
    EXPECT_TRUE(report["product"][key].is_number_float()) << key;
  const Json& matrix = report["matrix"];
  EXPECT_EQ(matrix["source"], "poisson2d:20");
  EXPECT_EQ(matrix["rows"], 400);
  EXPECT_EQ(matrix["cols"], 400);
  EXPECT_EQ(matrix["nnz"], 1920);
  EXPECT_EQ(matrix["symmetric"], true);
  const Json& precond = report["preconditioner"];
  EXPECT_EQ(precond["name"], "adaptive_fsai");
  EXPECT_EQ(precond["options"]["max_steps"], 4);
  EXPECT_EQ(precond["options"]["tolerance"], 0.01);
  EXPECT_TRUE(precond["options"]["setup_scalar"].is_string());
  for (const char* key :
       {"symbolic_seconds", "numeric_seconds", "setup_seconds", "host_seconds", "density", "apply_seconds"})
    EXPECT_TRUE(precond[key].is_number_float()) << key;
  EXPECT_GT(precond["setup_seconds"].get<double>(), 0);
  EXPECT_GT(precond["nnz"].get<std::int64_t>(), 400);
  EXPECT_GT(precond["bytes"].get<std::int64_t>(), 400 * 8);
  EXPECT_GT(precond["setup_bytes"].get<std::int64_t>(), 400 * 8);
  EXPECT_NEAR(precond["density"].get<double>(), precond["nnz"].get<double>() / 1920, 1e-12);
  EXPECT_TRUE(precond["breakdowns"]["count"].is_number_integer());
  EXPECT_TRUE(precond["breakdowns"]["first_row"].is_number_integer());
  EXPECT_TRUE(precond["breakdowns"]["action"].is_string());
  const Json& solver = report["solver"];
  EXPECT_EQ(solver["name"], "cg");
  EXPECT_EQ(solver["options"]["rtol"], 1e-6);
  EXPECT_EQ(solver["converged"], true);
  EXPECT_EQ(solver["reason"], "rtol");
  EXPECT_GT(solver["iterations"].get<std::int64_t>(), 0);
  EXPECT_GE(solver["matrix_products"].get<std::int64_t>(), solver["iterations"].get<std::int64_t>());
  for (const char* key : {"relative_residual", "true_relative_residual", "seconds"})
    EXPECT_TRUE(solver[key].is_number_float()) << key;
  EXPECT_NEAR(report["total_seconds"].get<double>(),
              precond["setup_seconds"].get<double>() + solver["seconds"].get<double>(), 1e-12);
}

TEST_F(DriverTest, HistoryHasARowAnIterationAndOneMore) {
  for (const char* repeat : {"1", "2"}) {
    const Json report =
        report_of({"solve", "--generate", "poisson2d:20", "--history", "h.csv", "--repeat", repeat});
    const auto rows = lines_of(read_file(file("h.csv")));
    ASSERT_EQ(rows.size(), report["solver"]["iterations"].get<std::size_t>() + 2);
    EXPECT_EQ(rows[0], "iteration,residual_norm,relative_residual");
    EXPECT_THAT(rows[1], StartsWith("0,"));
    EXPECT_NEAR(std::stod(rows[1].substr(rows[1].rfind(',') + 1)), 1, 1e-14);
    const double last = std::stod(rows.back().substr(rows.back().rfind(',') + 1));
    EXPECT_NEAR(last, report["solver"]["relative_residual"].get<double>(), 1e-6 * last);
  }
}

TEST_F(DriverTest, KokkosKernelsMultipliesOrIsNotThere) {
  const std::vector<std::string> solve = {"solve", "--generate", "poisson2d:20", "--precond", "jacobi"};
  auto other = solve;
  other.insert(other.end(), {"--spmv", "kokkoskernels", "--report", "report.json"});
  const Result result = run(other);
  if (result.code != 0) {
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr("this build has no Kokkos Kernels"));
    return;
  }
  const Json theirs = Json::parse(read_file(file("report.json")));
  EXPECT_EQ(theirs["spmv"], "kokkoskernels");
  EXPECT_NEAR(theirs["solver"]["iterations"].get<int>(), report_of(solve)["solver"]["iterations"].get<int>(),
              1);
}

TEST_F(DriverTest, EveryFormatSolves) {
  const auto solved = [&](const std::string& spmv, const std::string& matrix) {
    return report_of({"solve", "--generate", matrix, "--precond", "jacobi", "--spmv", spmv});
  };
  for (const std::string matrix : {"poisson2d:20", "magnetic3d:6"}) {
    const Json by_rows = solved("native", matrix);
    EXPECT_EQ(by_rows["product"]["format"], "csr");
    for (const std::string spmv : {"auto", "csr", "sell", "dia", "jad", "bcsr"}) {
      const Json report = solved(spmv, matrix);
      EXPECT_EQ(report["spmv"], spmv);
      if (spmv != "auto") {
        EXPECT_EQ(report["product"]["format"], spmv);
        EXPECT_EQ(report["product"]["reason"], "");
      }
      EXPECT_NEAR(report["solver"]["iterations"].get<int>(), by_rows["solver"]["iterations"].get<int>(), 1);
    }
  }
  for (const std::string spmv : {"csr_scalar", "csr_vector"}) {
    const Json report = solved(spmv, "poisson2d:20");
    EXPECT_EQ(report["spmv"], spmv);
    EXPECT_EQ(report["product"]["format"], is_host_space<Kokkos::DefaultExecutionSpace> ? "csr" : spmv);
    EXPECT_GT(report["product"]["apply_seconds"].get<double>(), 0);
    EXPECT_TRUE(report["solver"]["converged"].get<bool>());
  }
  const Result refused = run({"solve", "--generate", "circuit:60", "--precond", "jacobi", "--spmv", "dia"});
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.err, HasSubstr("make_dia:"));
  EXPECT_THAT(refused.err, HasSubstr("take SELL or CSR"));
}

TEST_F(DriverTest, InfoTellsTheFormatOfTheProduct) {
  const Result info = run({"info", "--generate", "poisson2d:20", "--report", "info.json"});
  EXPECT_THAT(info.out, HasSubstr("--spmv auto"));
  EXPECT_THAT(info.out, HasSubstr(format_of_a_grid() + ": 5 diagonals take"));
  const Json product = Json::parse(read_file(file("info.json")))["matrix"]["product"];
  EXPECT_EQ(product["format"], format_of_a_grid());
  EXPECT_EQ(product["diagonals"], 5);
  EXPECT_EQ(product["dia_bytes"], 5 * 400 * 8);
}

TEST_F(DriverTest, OneDeviceIsThePlainCommand) {
  for (const char* precond : {"jacobi", "fsai"}) {
    const std::vector<std::string> plain = {"solve", "--generate", "poisson2d:20", "--precond", precond};
    std::vector<std::string> arguments = plain;
    arguments.insert(arguments.end(), {"--devices", "1"});
    const Json report = report_of(arguments), expected = report_of(plain);
    EXPECT_EQ(report["devices"], 1);
    EXPECT_EQ(expected["devices"], 1);
    EXPECT_TRUE(report["preconditioner"]["devices"].is_null());
    EXPECT_EQ(report["preconditioner"]["nnz"], expected["preconditioner"]["nnz"]);
    EXPECT_EQ(report["solver"]["iterations"], expected["solver"]["iterations"]);
    EXPECT_EQ(report["solver"]["true_relative_residual"], expected["solver"]["true_relative_residual"]);
  }
}

TEST_F(DriverTest, SeveralDevicesShareASetup) {
  if (Devices::available() < 2) GTEST_SKIP() << "there is one device";
  const std::vector<std::string> plain = {"solve", "--generate", "elasticity3d:80", "--precond", "fsai"};
  std::vector<std::string> arguments = plain;
  arguments.insert(arguments.end(), {"--devices", "2", "--repeat", "2"});
  const Json report = report_of(arguments), expected = report_of(plain);
  EXPECT_EQ(report["devices"], 2);
  const Json& precond = report["preconditioner"];
  EXPECT_EQ(precond["nnz"], expected["preconditioner"]["nnz"]);
  EXPECT_EQ(precond["setup_seconds"].is_number_float(), true);
  const double iterations = expected["solver"]["iterations"].get<double>();
  EXPECT_NEAR(report["solver"]["iterations"].get<double>(), iterations, 0.02 * iterations);
  ASSERT_EQ(precond["devices"].size(), 2u);
  EXPECT_EQ(precond["devices"][0]["first_row"], 0);
  EXPECT_EQ(precond["devices"][1]["first_row"], precond["devices"][0]["rows"]);
  for (const Json& device : precond["devices"]) {
    EXPECT_THAT(device["name"].get<std::string>(), HasSubstr("(number "));
    EXPECT_GT(device["numeric_seconds"].get<double>(), 0);
  }
  arguments[2] = "elasticity3d:12";  // one device is faster
  const Json small = report_of(arguments)["preconditioner"];
  EXPECT_TRUE(small["devices"].is_null());
  EXPECT_THAT(small["notes"].back().get<std::string>(), HasSubstr("one of 2 devices makes the setup"));
  const Result refused = run({"solve", "--generate", "poisson2d:5", "--precond", "jacobi", "--devices", "2"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--devices: jacobi cannot be set up over several devices"));
}

TEST_F(DriverTest, RepeatReportsMedians) {
  const Json report =
      report_of({"solve", "--generate", "poisson2d:20", "--precond", "jacobi", "--repeat", "3"});
  EXPECT_EQ(report["repeat"], 3);
  EXPECT_GT(report["preconditioner"]["first_setup_seconds"].get<double>(), 0);
  EXPECT_EQ(report["solver"]["converged"], true);
}

TEST_F(DriverTest, SolutionSolvesTheSystem) {
  for (const char* name : {"x.mtx", "x.mtx.gz"}) {
    const std::vector<std::string> solve = {"solve", "--generate", "poisson2d:20", "--rhs", "a_ones"};
    auto first = solve, second = solve;
    first.insert(first.end(), {"--rtol", "1e-9", "--solution", name});
    ASSERT_EQ(run(first).code, 0);
    // As the initial vector of the same system it leaves nothing to do.
    second.insert(second.end(), {"--rtol", "1e-8", "--x0", name});
    const Json again = report_of(second);
    EXPECT_EQ(again["solver"]["iterations"], 0);
  }
  const auto lines = lines_of(read_file(file("x.mtx")));
  std::vector<double> x;
  for (const auto& line : lines) {
    if (line.front() != '%' && line.find(' ') == std::string::npos) x.push_back(std::stod(line));
  }
  ASSERT_EQ(x.size(), 400u);
  for (const double value : x) EXPECT_NEAR(value, 1, 1e-5);  // b = A*1
}

// Without an entry in column 2, M e_2 says nothing of A: no preconditioner is to blame.
TEST_F(DriverTest, AColumnWithoutEntriesIsNamed) {
  write("no_column.mtx",
        "%%MatrixMarket matrix coordinate real general\n4 4 8\n1 1 4\n1 3 1\n2 1 1\n2 3 2\n3 3 4\n3 4 1\n4 1 "
        "1\n4 4 4\n");
  const std::string named = "column 2 of A is empty: A is singular";
  for (const std::string precond : {"ilut", "jacobi", "none"}) {
    const Result result =
        run({"solve", "no_column.mtx", "--solver", "gmres", "--precond", precond, "--report", "r.json"});
    EXPECT_NE(result.code, 0);
    EXPECT_THAT(result.err, Not(HasSubstr("does not look singular"))) << precond;
    if (result.code == 3) continue;  // jacobi refuses the zero on the diagonal
    EXPECT_THAT(result.out, HasSubstr(named)) << precond;
    EXPECT_EQ(Json::parse(read_file(file("r.json")))["solver"]["looks_singular"], true) << precond;
  }
  const Result consistent =
      run({"solve", "no_column.mtx", "--solver", "gmres", "--precond", "none", "--rhs", "a_ones"});
  EXPECT_EQ(consistent.code, 0) << consistent.err;
  EXPECT_THAT(consistent.out, HasSubstr(named));
}

TEST_F(DriverTest, RandomRhsIsTheSameEveryTime) {
  for (const char* name : {"r1.mtx", "r2.mtx"})
    ASSERT_EQ(run({"solve", "--generate", "poisson2d:20", "--rhs", "random", "--solution", name}).code, 0);
  EXPECT_EQ(read_file(file("r1.mtx")), read_file(file("r2.mtx")));
}

TEST_F(DriverTest, ZeroRhsHasTheZeroSolution) {
  const Json report = report_of({"solve", "spd.mtx", "--rhs", "zero2.mtx", "--x0", "vector2.mtx", "--history",
                                 "h.csv", "--solution", "x0.mtx"});
  EXPECT_EQ(report["solver"]["reason"], "zero_rhs");
  EXPECT_EQ(report["solver"]["iterations"], 0);
  EXPECT_EQ(lines_of(read_file(file("h.csv"))).size(), 2u);
  EXPECT_EQ(lines_of(read_file(file("x0.mtx"))).back(), "0");
}

TEST_F(DriverTest, FailuresAreReported) {
  const Json stopped =
      report_of({"solve", "--generate", "poisson2d:20", "--max-iters", "1", "--history", "h.csv"}, 4);
  EXPECT_EQ(stopped["solver"]["converged"], false);
  EXPECT_EQ(stopped["solver"]["reason"], "max_iters");
  EXPECT_EQ(stopped["solver"]["iterations"], 1);
  EXPECT_EQ(lines_of(read_file(file("h.csv"))).size(), 3u);
  const Json indefinite = report_of({"solve", "indefinite.mtx", "--solver", "cg", "--rhs", "random"}, 5);
  EXPECT_EQ(indefinite["solver"]["converged"], false);
  EXPECT_EQ(indefinite["solver"]["reason"], "breakdown_not_spd");
}

TEST_F(DriverTest, OverflowIsNullInTheReportAndNoSolution) {
  const Json report =
      report_of({"solve", "huge_values.mtx", "--rhs", "a_ones", "--solution", "never.mtx"}, 5);
  EXPECT_EQ(report["solver"]["reason"], "nan");
  EXPECT_EQ(report["solver"]["converged"], false);
  EXPECT_TRUE(report["solver"]["true_relative_residual"].is_null());
  EXPECT_FALSE(fs::exists(file("never.mtx")));
}

TEST_F(DriverTest, PairsDoNotSwallowTheMatrix) {
  const Json report = report_of({"solve", "--precond", "adaptive_fsai", "-p", "max_steps=2", "step_size=2",
                                 "spd.mtx", "-p", "tolerance=0"});
  EXPECT_EQ(report["matrix"]["source"], "spd.mtx");
  EXPECT_EQ(report["preconditioner"]["options"]["step_size"], 2);
  EXPECT_EQ(report["preconditioner"]["options"]["tolerance"], 0.0);
}

TEST_F(DriverTest, OutputIsATableOrNothing) {
  const std::vector<std::string> solve = {"solve",     "--generate",    "poisson2d:20",
                                          "--precond", "adaptive_fsai", "--kokkos-num-threads=2"};
  const Result loud = run(solve);
  EXPECT_EQ(loud.err, "");
  for (const char* part : {"poisson2d:20", "adaptive_fsai", "setup", "density", "cg", "iterations", "rtol",
                           "residual", "total"}) {
    EXPECT_THAT(loud.out, HasSubstr(part));
  }
  EXPECT_THAT(loud.out, StartsWith("ended           converged (rtol) after "));
  for (const char* detail : {"max_steps=15", "max_iters=10000", "product "})
    EXPECT_THAT(loud.out, Not(HasSubstr(detail)));
  for (const char* flag : {"-v", "--verbose"}) {
    auto verbose = solve;
    verbose.emplace_back(flag);
    const Result all = run(verbose);
    EXPECT_THAT(all.out, StartsWith("ended           converged (rtol) after "));
    for (const char* detail : {"max_steps=15", "max_iters=10000", "product         by "})
      EXPECT_THAT(all.out, HasSubstr(detail));
  }
  EXPECT_THAT(run({"solve", "--generate", "poisson2d:20", "--max-iters", "1"}).out,
              StartsWith("ended           NOT CONVERGED (max_iters) after "));
  auto quiet = solve;
  quiet.push_back("--quiet");
  const Result silent = run(quiet);
  EXPECT_EQ(silent.code, 0);
  EXPECT_EQ(silent.out + silent.err, "");
}

TEST_F(DriverTest, MonitorPrintsResiduals) {
  const std::vector<std::string> solve = {"solve", "--generate", "poisson2d:20", "--history", "h.csv"};
  const auto lines_with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), solve.begin(), solve.end());
    const Result result = run(more);
    EXPECT_EQ(result.code, 0) << result.err;
    return lines_of(result.err);
  };
  const std::vector<std::string> named = {"--precond", "jacobi", "--solver", "cg"};
  auto each = named, fifth = named, quiet = named;
  each.emplace_back("--monitor");
  fifth.emplace_back("--monitor=5");
  quiet.insert(quiet.end(), {"--monitor", "-q"});
  const auto all = lines_with(each), some = lines_with(fifth);
  const auto history = lines_of(read_file(file("h.csv")));
  ASSERT_EQ(all.size(), history.size() - 1);
  EXPECT_EQ(all[0], "prekond: iteration 0, relative residual 1.000000e+00");
  EXPECT_THAT(all.back(), StartsWith("prekond: iteration " + std::to_string(all.size() - 1) + ", "));
  ASSERT_EQ(some.size(), (all.size() + 4) / 5);
  EXPECT_EQ(some[1], all[5]);
  EXPECT_TRUE(lines_with(named).empty());
  EXPECT_TRUE(lines_with(quiet).empty());
  EXPECT_FALSE(lines_with({"--monitor"}).empty()) << "also of methods that are chosen";
}

TEST_F(DriverTest, ProfileHasKernelsAndMemory) {
  const std::vector<std::string> solve = {"solve",  "--generate", "poisson2d:60", "--precond",
                                          "jacobi", "--solver",   "cg",           "--profile"};
  const Json report = report_of(solve), profile = report["profile"];
  ASSERT_GE(profile["kernels"].size(), 3u);
  double before = 1e9;
  bool has_own = false;
  for (const Json& kernel : profile["kernels"]) {
    EXPECT_LE(kernel["seconds"].get<double>(), before);
    before = kernel["seconds"];
    EXPECT_GE(kernel["calls"].get<int>(), 1);
    has_own |= kernel["label"].get<std::string>().starts_with("prekond::") &&
               kernel["calls"].get<int>() >= report["solver"]["iterations"].get<int>();
  }
  EXPECT_TRUE(has_own);
  std::vector<std::string> steps;
  for (const Json& step : profile["memory"]) {
    steps.push_back(step["step"]);
    EXPECT_GE(step["most_bytes"].get<int>(), 8 * 3600) << step;
  }
  EXPECT_THAT(steps, ::testing::Contains("setup of jacobi"));
  EXPECT_THAT(run(solve).out, AllOf(HasSubstr(" kernels take "), HasSubstr("in the step 'setup of jacobi'"),
                                    HasSubstr("\nprekond::")));
  EXPECT_FALSE(report_of({"solve", "spd.mtx"}).contains("profile"));
}

TEST_F(DriverTest, CommandLineWinsOverConfig) {
  const Json config = report_of({"solve", "--config", "config.json"});
  EXPECT_EQ(config["matrix"]["source"], "poisson2d:12");
  EXPECT_EQ(config["rhs"], "ones");
  EXPECT_EQ(config["repeat"], 2);
  EXPECT_EQ(config["preconditioner"]["options"]["max_steps"], 3);
  EXPECT_EQ(config["preconditioner"]["options"]["setup_scalar"], "double");
  EXPECT_EQ(config["solver"]["options"]["rtol"], 1e-4);
  EXPECT_EQ(config["solver"]["options"]["single_reduction"], true);

  const Json over =
      report_of({"solve", "spd.mtx", "--config", "config.json", "--rtol", "1e-9", "-p", "max_steps=1"});
  EXPECT_EQ(over["matrix"]["source"], "spd.mtx");
  EXPECT_EQ(over["solver"]["options"]["rtol"], 1e-9);
  EXPECT_EQ(over["preconditioner"]["options"]["max_steps"], 1);
  EXPECT_EQ(over["preconditioner"]["options"]["setup_scalar"], "double");

  // The options in the file belong to the preconditioner in the file.
  const Json other = report_of({"solve", "--config", "config.json", "--precond", "jacobi"});
  const Json without_config = report_of({"solve", "--generate", "poisson2d:12", "--precond", "jacobi"});
  EXPECT_EQ(other["preconditioner"]["name"], "jacobi");
  EXPECT_EQ(other["preconditioner"]["options"], without_config["preconditioner"]["options"]);
}

// ------------------------------------------------------------------------------------------------ the others

TEST_F(DriverTest, CompareMakesARowEach) {
  const std::vector<std::string> arguments = {"compare", "--generate", "poisson2d:20", "--precond",
                                              "none,jacobi,adaptive_fsai:max_steps=3"};
  const Result result = run(arguments);
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* part : {"setup", "iterations", "solve", "total", "density", "reason", "none", "jacobi",
                           "adaptive_fsai:max_steps=3"}) {
    EXPECT_THAT(result.out, HasSubstr(part));
  }
  const Json reports = report_of(arguments);
  ASSERT_TRUE(reports.is_array());
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_EQ(reports[1]["preconditioner"]["name"], "jacobi");
  EXPECT_EQ(reports[2]["preconditioner"]["options"]["max_steps"], 3);
  for (const auto& report : reports) EXPECT_EQ(report["solver"]["converged"], true);
}

TEST_F(DriverTest, CompareGoesOnAfterAFailure) {
  const Json reports =
      report_of({"compare", "indefinite.mtx", "--rhs", "random", "--precond", "none,jacobi"}, 5);
  ASSERT_EQ(reports.size(), 2u);
  for (const auto& report : reports) EXPECT_EQ(report["solver"]["reason"], "breakdown_not_spd");
}

TEST_F(DriverTest, CompareEndsWithTheLargestCodeOfItsRows) {
  const auto compared = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "compare");
    return run(arguments);
  };
  Result result = compared({"--generate", "poisson2d:20", "--precond", "none,jacobi", "--max-iters", "5"});
  EXPECT_EQ(result.code, 4);
  EXPECT_EQ(result.err,
            "prekond: error: 2 of 2 preconditioners did not lead to a solution: none: max_iters; jacobi: "
            "max_iters\n");
  EXPECT_THAT(result.out, HasSubstr("max_iters (not converged)"));
  // One converges, one does not, one refuses the matrix.
  result = compared({"--generate", "convection_diffusion3d:6", "--solver", "gmres", "--max-iters", "10",
                     "--precond", "nonsymmetric_fsai:power=5,none"});
  EXPECT_EQ(result.code, 4) << result.err;
  EXPECT_THAT(result.err, HasSubstr("1 of 2 preconditioners did not lead to a solution: none: max_iters"));
  result =
      compared({"--generate", "convection_diffusion3d:6", "--solver", "gmres", "--precond", "none,fsai"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr("1 of 2 preconditioners did not lead to a solution: fsai: "));
  EXPECT_THAT(result.out, HasSubstr("error: "));
  result = compared({"--generate", "convection_diffusion3d:6", "--solver", "gmres", "--max-iters", "3",
                     "--precond", "none,fsai", "--quiet"});
  EXPECT_EQ(result.code, 4);
  EXPECT_THAT(result.err, HasSubstr("2 of 2"));
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(lines_of(result.err).size(), 1u);
}

TEST_F(DriverTest, IsaiOfASymmetricKindIsForCg) {
  EXPECT_EQ(report_of({"solve", "spd.mtx", "--precond", "isai", "-p", "kind=spd"})["solver"]["converged"],
            true);
  EXPECT_EQ(report_of({"solve", "spd.mtx", "--precond", "isai", "--solver", "gmres"})["solver"]["converged"],
            true);
}

TEST_F(DriverTest, SolversForGeneralMatrices) {
  const std::vector<std::string> problem = {"solve", "--generate", "convection_diffusion3d:9", "--rtol",
                                            "1e-8"};
  for (const char* solver : {"bicgstab", "gmres", "fgmres", "idr", "richardson"}) {
    for (const char* precond : {"jacobi", "nonsymmetric_fsai"}) {
      std::vector<std::string> arguments = problem;
      arguments.insert(arguments.end(), {"--solver", solver, "--precond", precond, "--history", "h.csv"});
      const Json report = report_of(arguments);
      EXPECT_EQ(report["solver"]["name"], solver);
      EXPECT_EQ(report["solver"]["reason"], "rtol") << solver;
      EXPECT_LE(report["solver"]["true_relative_residual"].get<double>(), 1e-7);
      const auto iterations = report["solver"]["iterations"].get<std::size_t>();
      EXPECT_GE(report["solver"]["matrix_products"].get<std::size_t>(), iterations);
      EXPECT_EQ(lines_of(read_file(file("h.csv"))).size(), iterations + 2);
    }
  }
  std::vector<std::string> arguments = problem;
  arguments.insert(arguments.end(), {"--solver", "gmres", "-s", "restart=12", "orthogonalization=dcgs2",
                                     "side=left", "--precond", "jacobi"});
  const Json options = report_of(arguments)["solver"]["options"];
  EXPECT_EQ(options["restart"], 12);
  EXPECT_EQ(options["orthogonalization"], "dcgs2");
  EXPECT_EQ(options["side"], "left");
  EXPECT_THAT(run({"list", "solvers", "gmres"}).out, HasSubstr("orthogonalization=cgs2  (cgs2 | dcgs2)"));
  const Json compared = report_of({"compare", "nonsymmetric.mtx", "--solver", "idr", "--precond",
                                   "none,jacobi,nonsymmetric_fsai,adaptive_fsai"},
                                  3);
  ASSERT_EQ(compared.size(), 4u);
  for (int k : {0, 1, 2}) EXPECT_EQ(compared[k]["solver"]["converged"], true) << k;
}

TEST_F(DriverTest, InfoMeasures) {
  const Result result = run({"info", "--generate", "poisson2d:20", "--report", "info.json"});
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* part : {"400 rows", "1920 entries", "symmetry", "diagonal", "bandwidth"})
    EXPECT_THAT(result.out, HasSubstr(part));
  const Json matrix = Json::parse(read_file(file("info.json")))["matrix"];
  EXPECT_EQ(matrix["nnz"], 1920);
  EXPECT_EQ(matrix["symmetric"], true);
  EXPECT_EQ(matrix["row_length"]["max"], 5);
  EXPECT_EQ(matrix["bandwidth"]["upper"], 20);
  EXPECT_EQ(run({"info", "rectangular.mtx"}).code, 0);
  EXPECT_EQ(run({"info", "nonsymmetric.mtx"}).code, 0);
}

TEST_F(DriverTest, ListNamesAtTheStartOfEachLine) {
  std::vector<std::string> names;
  for (const auto& line : lines_of(run({"list", "preconditioners"}).out))
    names.push_back(line.substr(0, line.find(' ')));
  for (const char* name :
       {"none", "jacobi", "fsai", "adaptive_fsai", "nonsymmetric_fsai", "spai", "dynamic_spai"})
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  EXPECT_THAT(run({"list", "solvers"}).out, StartsWith("cg "));
  EXPECT_THAT(run({"list", "generators"}).out, HasSubstr("elasticity3d"));
  EXPECT_THAT(run({"list", "generators", "magnetic3d"}).out, HasSubstr("phase=1"));
  const std::string fsai = run({"list", "preconditioners", "adaptive_fsai"}).out;
  for (const char* part :
       {"paper:", "Bernaschi", "max_steps=15", "0 .. 1000000", "single | double", "growth steps"})
    EXPECT_THAT(fsai, HasSubstr(part));
  EXPECT_THAT(run({"list", "preconditioners", "nonsymmetric_fsai"}).out, HasSubstr("for general matrices"));
  EXPECT_THAT(run({"list", "generators", "circuit"}).out, HasSubstr("hubs=4"));
  EXPECT_EQ(run({"list"}).code, 0);
}

TEST_F(DriverTest, GeneratedFilesAreTheGeneratedMatrix) {
  for (const char* spec : {"poisson2d:9", "elasticity3d:4,contrast=100", "convection_diffusion3d:4"}) {
    const Result written = run({"generate", spec, "-o", "made.mtx.gz"});
    ASSERT_EQ(written.code, 0) << written.err;
    EXPECT_EQ(written.err, "");
    Json from_file = report_of({"info", "made.mtx.gz"})["matrix"];
    Json direct = report_of({"info", "--generate", spec})["matrix"];
    for (const char* key : {"source", "seconds"}) {
      from_file.erase(key);
      direct.erase(key);
    }
    EXPECT_EQ(from_file, direct) << spec;
  }
  ASSERT_EQ(run({"generate", "poisson2d:9", "-o", "made.mtx"}).code, 0);
  EXPECT_THAT(read_file(file("made.mtx")), StartsWith("%%MatrixMarket matrix coordinate real symmetric\n"));
  ASSERT_EQ(run({"generate", "convection_diffusion3d:3", "-o", "made.mtx"}).code, 0);
  EXPECT_THAT(read_file(file("made.mtx")), StartsWith("%%MatrixMarket matrix coordinate real general\n"));
}

}  // namespace
}  // namespace prekond::testing
