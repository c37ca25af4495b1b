// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/block_matrices.hpp"
#include "testing/petsc_matrices.hpp"
#include "testing/petsc_vectors.hpp"
#include "testing/temporary_folder.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond_petsc.h>
#include <prekond/adapters/petsc.hpp>
#include <prekond/precond/registry.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Registers the type, once.
class PetscPc : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { check(PCRegister_Prekond()); }
  void TearDown() override {
    for (const std::string& name : m_options) check(PetscOptionsClearValue(nullptr, name.c_str()));
  }

  /// An option of the database, for the rest of the test.
  void option(const std::string& name, const char* value) {
    check(PetscOptionsSetValue(nullptr, name.c_str(), value));
    m_options.push_back(name);
  }

 private:
  std::vector<std::string> m_options;
};

/// On several ranks each acts on its own, unless another overlap is given.
OwnedPC make_pc(Mat a, const char* name = nullptr, const char* rank_overlap = "0") {
  OwnedPC pc;
  check(PCCreate(PETSC_COMM_WORLD, pc.receive()));
  check(PCSetOperators(pc.get(), a, a));
  check(PCSetType(pc.get(), PCPREKOND));
  if (name) check(PCPrekondSetName(pc.get(), name));
  check(PCPrekondSetOption(pc.get(), "rank_overlap", rank_overlap));
  return pc;
}

std::vector<double> applied(PC pc, Vec x) {
  OwnedVec y;
  check(VecDuplicate(x, y.receive()));
  check(VecSet(y.get(), std::nan("")));
  check(PCApply(pc, x, y.get()));
  return own_entries(y.get());
}

/// Prekond's own preconditioner of this rank's rows and columns, applied.
std::vector<double> expected(const HostMatrix<double>& whole, const NamedParts& parts,
                             const std::string& name, OptionMap options, const std::vector<double>& x) {
  HostMatrix<double> own;
  own.num_rows = own.num_cols = parts.mine();
  for (const std::int64_t i : parts.own()) {
    for (std::size_t k = whole.row_ptrs[i]; k < whole.row_ptrs[i + 1]; ++k) {
      const std::int64_t col = whole.col_idxs[k] - parts.first();
      if (col < 0 || col >= parts.mine()) continue;
      own.col_idxs.push_back(static_cast<int>(col));
      own.values.push_back(whole.values[k]);
    }
    own.row_ptrs.push_back(own.nnz());
  }
  const PetscSpace space;
  const auto a = to_device<PetscSpace>(own);
  const auto m = create_preconditioner<double, PetscSpace>(name, options);
  m->numeric(space, CsrView<double, PetscSpace>(a));
  const auto from = to_device<PetscSpace>(x);
  const Vector<double, PetscSpace> to("y", x.size());
  const auto workspace = m->make_workspace(space, 1);
  m->apply(space, as_multivector(from), as_multivector(to), *workspace);
  space.fence();
  return to_vector(to);
}

/// The text that a PCView of `pc` writes, on rank 0.
std::string text_of(PC pc) {
  const TemporaryFolder folder("petsc_view");
  const std::string path = folder / "view.txt";
  PetscViewer viewer = nullptr;
  check(PetscViewerASCIIOpen(PETSC_COMM_WORLD, path.c_str(), &viewer));
  check(PCView(pc, viewer));
  check(PetscViewerDestroy(&viewer));
  return read_bytes(path);
}

// ------------------------------------------------------------------------------------------------
// applications

TEST_F(PetscPc, EveryMethodIsAppliedToTheRanksOwnRows) {
  const HostMatrix<double> whole = problem("poisson2d:9");
  for (const NamedParts& parts : all_parts(81)) {
    const OwnedMat a = assemble(whole, parts);
    const OwnedVec x = right_hand_side(a.get());
    for (const auto& line : preconditioner_registry<double, PetscSpace>()) {
      SCOPED_TRACE(line.name + ", " + parts.name);
      const OwnedPC pc = make_pc(a.get(), line.name.c_str());
      check(PCSetUp(pc.get()));
      EXPECT_EQ(applied(pc.get(), x.get()), expected(whole, parts, line.name, {}, own_entries(x.get())));
    }
  }
}

/// M^-1 of one rank for the whole matrix, applied: this rank's part.
std::vector<double> expected_of_one_rank(const HostMatrix<double>& whole, const NamedParts& parts,
                                         const std::string& name, const OptionMap& options) {
  const PetscSpace space;
  const auto a = to_device<PetscSpace>(whole);
  const auto m = create_preconditioner<double, PetscSpace>(name, options);
  m->numeric(space, CsrView<double, PetscSpace>(a));
  std::vector<double> x;
  for (std::int64_t i = 0; i < whole.num_rows; ++i) x.push_back(1 + double((i * 37 + 13) % 29) / 8);
  const auto from = to_device<PetscSpace>(x);
  const Vector<double, PetscSpace> to("y", x.size());
  m->apply(space, as_multivector(from), as_multivector(to), *m->make_workspace(space, 1));
  space.fence();
  const auto y = to_vector(to);
  return {y.begin() + parts.first(), y.begin() + parts.first() + parts.mine()};
}

TEST_F(PetscPc, InversesByRowsAreThoseOfOneRank) {
  const HostMatrix<double> whole = problem("poisson2d:9");
  for (const NamedParts& parts : all_parts(81)) {
    const OwnedMat a = assemble(whole, parts);
    const OwnedVec x = right_hand_side(a.get());
    for (const auto& [name, overlap] :
         std::vector<std::pair<std::string, const char*>>{{"fsai", "-1"},
                                                          {"nonsymmetric_fsai", "-1"},
                                                          {"spai", "-1"},
                                                          {"isai", "-1"},
                                                          {"jacobi", "-1"},
                                                          {"chebyshev", "-1"},
                                                          {"ls_polynomial", "-1"},
                                                          {"neumann", "-1"},
                                                          {"amg", "-1"},
                                                          {"adaptive_fsai", "1000"}}) {
      SCOPED_TRACE(name + ", " + parts.name);
      const OwnedPC pc = make_pc(a.get(), name.c_str(), overlap);
      check(PCSetUp(pc.get()));
      const auto found = applied(pc.get(), x.get());
      const auto whole_y = expected_of_one_rank(whole, parts, name, {});
      ASSERT_EQ(found.size(), whole_y.size());
      // Polynomials are made from Ritz values, which are those of one rank but for rounding.
      const bool is_polynomial = name == "chebyshev" || name == "ls_polynomial" || name == "neumann";
      const double limit = is_polynomial ? 1e-11 : 1e-12;
      for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_NEAR(found[i], whole_y[i], limit * (1 + std::abs(whole_y[i])));
      const std::string text = text_of(pc.get());
      if (my_rank() == 0 && num_ranks() > 1) {
        EXPECT_THAT(text,
                    HasSubstr(name == "jacobi" ? "on each rank's own rows" : "over all ranks, messages by "));
      }
    }
  }
}

TEST_F(PetscPc, OtherFormatsAreConverted) {
  const HostMatrix<double> whole = problem("poisson2d:8");
  const NamedParts parts = equal_parts(64);
  for (const MatType type : {MATMPIAIJ, MATBAIJ, MATSBAIJ}) {
    SCOPED_TRACE(type);
    const OwnedMat a = assemble(whole, parts, type);
    const OwnedVec x = right_hand_side(a.get());
    const OwnedPC pc = make_pc(a.get(), "fsai");
    check(PCSetUp(pc.get()));
    EXPECT_EQ(applied(pc.get(), x.get()), expected(whole, parts, "fsai", {}, own_entries(x.get())));
    const std::string text = text_of(pc.get());
    if (my_rank() == 0 && type == std::string(MATSBAIJ)) {
      EXPECT_THAT(text, HasSubstr("baij, not aij"));
    }
    if (my_rank() == 0 && type != std::string(MATSBAIJ)) {
      EXPECT_THAT(text, Not(HasSubstr("baij, not aij")));
    }
  }
}

// Exact and inexact, block Jacobi over the ranks and with overlap; also a method that takes rows.
TEST_F(PetscPc, BlocksOfABaijAreThoseOfItsRows) {
  const HostMatrix<double> whole = of_full_blocks(problem("poisson2d:7"), 3);
  const std::vector<std::map<std::string, const char*>> of_block_ilu0 = {
      {{"block_size", "3"}}, {{"block_size", "3"}, {"solve.method", "jacobi"}, {"solve.sweeps", "2"}}};
  for (const NamedParts& parts : parts_of_blocks(49, 3))
    for (const char* overlap : {"0", "1"})
      for (const std::string name : {"block_ilu0", "ilu0"})
        for (const auto& options : of_block_ilu0) {
          SCOPED_TRACE(name + ", " + parts.name + ", overlap " + overlap);
          std::vector<std::vector<double>> found;
          for (const MatType type : {MATBAIJ, MATAIJ}) {
            const OwnedMat a = assemble(whole, parts, type, 3);
            const OwnedVec x = right_hand_side(a.get());
            const OwnedPC pc = make_pc(a.get(), name.c_str());
            check(PCPrekondSetOption(pc.get(), "rank_overlap", overlap));
            if (name == "block_ilu0")
              for (const auto& [key, value] : options)
                check(PCPrekondSetOption(pc.get(), key.c_str(), value));
            check(PCSetUp(pc.get()));
            found.push_back(applied(pc.get(), x.get()));
          }
          for (std::size_t i = 0; i < found[0].size(); ++i)
            EXPECT_NEAR(found[0][i], found[1][i], 1e-13 * (1 + std::abs(found[1][i]))) << "row " << i;
        }
}

TEST_F(PetscPc, SeveralVectorsAtOnce) {
  const HostMatrix<double> whole = problem("poisson2d:9");
  const OwnedMat a = assemble(whole, equal_parts(81));
  const OwnedPC pc = make_pc(a.get(), "fsai");
  check(PCSetUp(pc.get()));
  PetscInt n = 0;
  check(MatGetLocalSize(a.get(), &n, nullptr));
  for (const PetscInt k : {1, 5, 2}) {
    // Their columns lie further apart than they are long, and at another distance each.
    std::vector<PetscScalar> x_memory((n + 3) * k, 0), y_memory((n + 5) * k, std::nan(""));
    OwnedMat x, y;
    check(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, 81, k, x_memory.data(), x.receive()));
    check(MatDenseSetLDA(x.get(), n + 3));
    check(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, 81, k, y_memory.data(), y.receive()));
    check(MatDenseSetLDA(y.get(), n + 5));
    for (PetscInt v = 0; v < k; ++v)
      for (PetscInt i = 0; i < n; ++i) x_memory[v * (n + 3) + i] = 1 + (i * 7 + v * 11) % 13;
    check(PCMatApply(pc.get(), x.get(), y.get()));
    for (PetscInt v = 0; v < k; ++v) {
      Vec column = nullptr;
      check(MatDenseGetColumnVecRead(x.get(), v, &column));
      const std::vector<double> alone = applied(pc.get(), column);
      check(MatDenseRestoreColumnVecRead(x.get(), v, &column));
      check(MatDenseGetColumnVecRead(y.get(), v, &column));
      EXPECT_EQ(own_entries(column), alone) << "column " << v << " of " << k;
      check(MatDenseRestoreColumnVecRead(y.get(), v, &column));
    }
  }
}

TEST_F(PetscPc, AnApplicationWorksOnPetscsMemory) {
  const OwnedMat a = assemble(problem("poisson2d:9"), equal_parts(81));
  const OwnedPC pc = make_pc(a.get(), "fsai");
  const OwnedVec x = right_hand_side(a.get());
  OwnedVec y;
  check(VecDuplicate(x.get(), y.receive()));
  check(PCSetUp(pc.get()));
  check(PCApply(pc.get(), x.get(), y.get()));
  const ToolEvents events;
  check(PCApply(pc.get(), x.get(), y.get()));
  EXPECT_THAT(events.allocations(), ::testing::IsEmpty());
  EXPECT_THAT(events.kernels(), ::testing::AllOf(::testing::Not(::testing::IsEmpty()),
                                                 ::testing::Each(HasSubstr("prekond::"))));
  EXPECT_THAT(events.fences(), ::testing::SizeIs(is_host_space<PetscSpace> ? 0 : 1));
}

TEST_F(PetscPc, TransposesOfSymmetricInverses) {
  const OwnedMat a = assemble(problem("poisson2d:7"), equal_parts(49));
  const OwnedVec x = right_hand_side(a.get());
  OwnedVec y;
  check(VecDuplicate(x.get(), y.receive()));
  for (const auto& [name, exists] : {std::pair{"fsai", PETSC_TRUE}, std::pair{"spai", PETSC_FALSE}}) {
    SCOPED_TRACE(name);
    const OwnedPC pc = make_pc(a.get(), name);
    check(PCSetUp(pc.get()));
    PetscBool found = PETSC_FALSE;
    check(PCApplyTransposeExists(pc.get(), &found));
    EXPECT_EQ(found, exists);
    if (!found) continue;
    check(PCApplyTranspose(pc.get(), x.get(), y.get()));
    EXPECT_EQ(own_entries(y.get()), applied(pc.get(), x.get()));
  }
}

// ------------------------------------------------------------------------------------------------ phases

/// The same with entries at distance 3 from the diagonal.
HostMatrix<double> with_more_entries(const HostMatrix<double>& a) {
  std::vector<std::vector<double>> dense(a.num_rows, std::vector<double>(a.num_rows, 0));
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) dense[i][a.col_idxs[k]] = a.values[k];
    for (const std::int64_t j : {i - 3, i + 3})
      if (j >= 0 && j < a.num_rows && dense[i][j] == 0) dense[i][j] = -0.01;
    dense[i][i] += 0.02;
  }
  return sparse(dense);
}

TEST_F(PetscPc, NewValuesAndNewPatterns) {
  for (const char* const name : {"adaptive_fsai", "fsai", "ilu0"}) {
    SCOPED_TRACE(name);
    HostMatrix<double> whole = problem("poisson2d:9");
    const NamedParts parts = equal_parts(81);
    const OwnedMat a = assemble(whole, parts);
    const OwnedVec x = right_hand_side(a.get());
    const OwnedPC pc = make_pc(a.get(), name);
    const auto expect_fresh = [&](const char* what, bool looks_at_the_pattern) {
      SCOPED_TRACE(what);
      {
        const ToolEvents events;
        check(PCSetUp(pc.get()));
        const auto& fences = events.fences();
        EXPECT_EQ(std::count(fences.begin(), fences.end(), "prekond::symbolic::end") > 0,
                  looks_at_the_pattern);
      }
      EXPECT_EQ(applied(pc.get(), x.get()), expected(whole, parts, name, {}, own_entries(x.get())));
    };
    expect_fresh("first", true);

    for (std::int64_t i = 0; i < 81; ++i)
      for (std::size_t k = whole.row_ptrs[i]; k < whole.row_ptrs[i + 1]; ++k)
        if (whole.col_idxs[k] == i) whole.values[k] += double(i % 7);
    set_values(a.get(), whole, parts);
    expect_fresh("new values", false);

    whole = problem("anisotropic2d:9");
    const OwnedMat b = assemble(whole, parts);
    check(PCSetOperators(pc.get(), b.get(), b.get()));
    expect_fresh("another matrix", true);

    check(MatSetOption(b.get(), MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    check(MatSetOption(b.get(), MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
    whole = with_more_entries(whole);
    set_values(b.get(), whole, parts);
    expect_fresh("new pattern", true);
  }
}

TEST_F(PetscPc, AFailedSetupIsNoEnd) {
  HostMatrix<double> whole = problem("poisson2d:6");
  const NamedParts parts = equal_parts(36);
  const OwnedMat a = assemble(whole, parts);
  const OwnedPC pc = make_pc(a.get(), "fsai");
  check(PCSetUp(pc.get()));
  const bool last = my_rank() == num_ranks() - 1;
  const auto set_last = [&](double value) {
    if (last) check(MatSetValue(a.get(), 35, 35, value, INSERT_VALUES));
    check(MatAssemblyBegin(a.get(), MAT_FINAL_ASSEMBLY));
    check(MatAssemblyEnd(a.get(), MAT_FINAL_ASSEMBLY));
  };
  set_last(-1);
  {
    ErrorText errors;
    const std::string text = errors.of(PCSetUp(pc.get()));
    EXPECT_THAT(text, HasSubstr("Prekond: "));
    EXPECT_THAT(text, HasSubstr("positive"));
    if (num_ranks() > 1) {
      EXPECT_THAT(text, HasSubstr("rank " + std::to_string(num_ranks() - 1) + " of"));
      EXPECT_THAT(text, HasSubstr("has the global index 35"));
    }
  }
  set_last(4);
  check(PCSetUp(pc.get()));
  const OwnedVec x = right_hand_side(a.get());
  EXPECT_EQ(applied(pc.get(), x.get()), expected(whole, parts, "fsai", {}, own_entries(x.get())));
}

TEST_F(PetscPc, AMatrixThatIsNotSymmetricIsRefusedWhereThatMatters) {
  std::vector<std::vector<double>> dense(36, std::vector<double>(36, 0));
  for (int i = 0; i < 36; ++i) dense[i][i] = 4;
  dense[1][0] = -1;
  const OwnedMat a = assemble(sparse(dense), parts_of_one(36, num_ranks() - 1));
  ErrorText errors;
  EXPECT_THAT(errors.of(PCSetUp(make_pc(a.get(), "adaptive_fsai").get())), HasSubstr("symmetric"));
  check(PCSetUp(make_pc(a.get(), "spai").get()));
  const OwnedPC unchecked = make_pc(a.get(), "adaptive_fsai");
  check(PCPrekondSetOption(unchecked.get(), "check_input", "off"));
  check(PCSetUp(unchecked.get()));
}

TEST_F(PetscPc, BreakdownsHaveGlobalRows) {
  std::vector<std::vector<double>> dense(36, std::vector<double>(36, 0));
  for (int i = 0; i < 36; ++i) dense[i][i] = 4;
  dense[34][35] = dense[35][34] = 10;
  // The last rank has the rows 33 to 35.
  NamedParts parts = equal_parts(36);
  parts.sizes.assign(num_ranks(), 0);
  parts.sizes.front() = 33;
  parts.sizes.back() += 3;
  const OwnedMat a = assemble(sparse(dense), parts);
  const OwnedPC pc = make_pc(a.get(), "fsai");
  check(PCSetUp(pc.get()));
  const std::string text = text_of(pc.get());
  if (my_rank() == 0) {
    EXPECT_THAT(text, HasSubstr("breakdowns: 1 rows\n    the first has the global index 35, pivot "));
  }
}

// ------------------------------------------------------------------------------------------------ options

TEST_F(PetscPc, TheMatrixChoosesWhereNoMethodIsNamed) {
  const OwnedMat a = assemble(problem("poisson2d:9"), equal_parts(81));
  const OwnedPC pc = make_pc(a.get());
  check(PCSetUp(pc.get()));
  const std::string text = text_of(pc.get());
  if (my_rank() == 0) {
    EXPECT_THAT(text, AllOf(HasSubstr("method: auto"), HasSubstr("note: auto takes ")));
  }
}

TEST_F(PetscPc, OptionsComeFromTheDatabase) {
  const HostMatrix<double> whole = problem("poisson2d:9");
  const NamedParts parts = equal_parts(81);
  const OwnedMat a = assemble(whole, parts);
  const OwnedVec x = right_hand_side(a.get());
  option("-pc_prekond_name", "block_jacobi");
  option("-pc_prekond_local.name", "adaptive_fsai");
  option("-pc_prekond_local.max_steps", "2");
  option("-inner_pc_prekond_name", "adaptive_fsai");
  option("-inner_pc_prekond_max_steps", "3");
  option("-inner_pc_prekond_check_input", "no");
  const OwnedPC pc = make_pc(a.get());
  check(PCSetFromOptions(pc.get()));
  check(PCSetUp(pc.get()));
  EXPECT_EQ(applied(pc.get(), x.get()),
            expected(whole, parts, "block_jacobi",
                     {{"local.name", std::string("adaptive_fsai")}, {"local.max_steps", std::int64_t(2)}},
                     own_entries(x.get())));
  const std::string text = text_of(pc.get());

  const OwnedPC inner = make_pc(a.get());
  check(PCSetOptionsPrefix(inner.get(), "inner_"));
  check(PCSetFromOptions(inner.get()));
  check(PCSetUp(inner.get()));
  EXPECT_EQ(applied(inner.get(), x.get()),
            expected(whole, parts, "adaptive_fsai", {{"max_steps", std::int64_t(3)}}, own_entries(x.get())));
  const std::string inner_text = text_of(inner.get());
  long long columns = 0, entries = 0;  // of other ranks
  {
    const petsc::LocalMatrix<PetscSpace> local(PetscSpace(), a.get());
    columns = local.foreign_columns();
    entries = local.foreign_entries();
    MPI_Allreduce(MPI_IN_PLACE, &columns, 1, MPI_LONG_LONG, MPI_SUM, PETSC_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &entries, 1, MPI_LONG_LONG, MPI_SUM, PETSC_COMM_WORLD);
  }
  if (my_rank() == 0) {
    EXPECT_THAT(text, HasSubstr("method: block_jacobi"));
    EXPECT_THAT(text, HasSubstr("  local=adaptive_fsai\n"));
    EXPECT_THAT(text, HasSubstr("  local.max_steps=2\n"));
    EXPECT_THAT(inner_text, HasSubstr("  max_steps=3\n"));
    EXPECT_THAT(inner_text, HasSubstr("  check_input=false\n"));
    EXPECT_THAT(inner_text, HasSubstr("  reuse=none\n"));
    EXPECT_THAT(inner_text, HasSubstr("breakdowns: 0 rows"));
    EXPECT_THAT(inner_text, HasSubstr("last setup: symbolic "));
    if (num_ranks() > 1) {
      EXPECT_THAT(inner_text, HasSubstr("columns of other ranks, left out: " + std::to_string(columns) +
                                        " with " + std::to_string(entries) + " entries"));
    }
  }
}

TEST_F(PetscPc, PrefixesAreThoseOfPetsc) {
  const OwnedMat a = assemble(problem("poisson2d:5"), equal_parts(25));
  option("-mg_levels_pc_prekond_name", "fsai");
  option("-mg_levels_1_pc_prekond_check_input", nullptr);
  option("-mg_coarse_pc_prekond_name", "spai");
  option("-mg_coarse_pc_prekond_no_such", "option");
  for (const auto& [prefix, name] :
       {std::pair{"mg_levels_1_", "fsai"}, std::pair{"mg_levels_2_", "fsai"}, std::pair{"mg_", "auto"}}) {
    SCOPED_TRACE(prefix);
    const OwnedPC pc = make_pc(a.get());
    check(PCSetOptionsPrefix(pc.get(), prefix));
    check(PCSetFromOptions(pc.get()));
    const std::string text = text_of(pc.get());
    if (my_rank() == 0) {
      EXPECT_THAT(text, HasSubstr(std::string("method: ") + name + ","));
    }
  }
  ErrorText errors;
  const OwnedPC pc = make_pc(a.get());
  check(PCSetOptionsPrefix(pc.get(), "mg_coarse_"));
  EXPECT_THAT(errors.of(PCSetFromOptions(pc.get())), HasSubstr("'no_such'"));
}

TEST_F(PetscPc, OptionsThatChangeTakeEffect) {
  const HostMatrix<double> whole = problem("poisson2d:9");
  const NamedParts parts = equal_parts(81);
  const OwnedMat a = assemble(whole, parts);
  const OwnedVec x = right_hand_side(a.get());
  const OwnedPC pc = make_pc(a.get(), "adaptive_fsai");
  check(PCSetUp(pc.get()));
  check(PCPrekondSetOption(pc.get(), "max_steps", "1"));
  check(PCSetUp(pc.get()));
  const auto found = applied(pc.get(), x.get());
  EXPECT_EQ(found,
            expected(whole, parts, "adaptive_fsai", {{"max_steps", std::int64_t(1)}}, own_entries(x.get())));
  if (parts.mine() > 9) {
    EXPECT_NE(found, expected(whole, parts, "adaptive_fsai", {}, own_entries(x.get())));
  }
}

TEST_F(PetscPc, WrongOptionsAreErrors) {
  const OwnedMat a = assemble(problem("poisson2d:5"), equal_parts(25));
  ErrorText errors;
  {
    const OwnedPC pc = make_pc(a.get());
    EXPECT_THAT(errors.of(PCPrekondSetName(pc.get(), "adaptive_fsay")),
                HasSubstr("did you mean 'adaptive_fsai'?"));
    check(PCPrekondSetName(pc.get(), "adaptive_fsai"));
    EXPECT_THAT(errors.of(PCPrekondSetOption(pc.get(), "max_step", "3")), HasSubstr("max_steps"));
    EXPECT_THAT(errors.of(PCPrekondSetOption(pc.get(), "max_steps", "many")), HasSubstr("max_steps"));
    EXPECT_THAT(errors.of(PCPrekondSetOption(pc.get(), "check_input", "perhaps")), HasSubstr("check_input"));
  }
  option("-pc_prekond_name", "adaptive_fsai");
  option("-pc_prekond_max_step", "3");
  const OwnedPC pc = make_pc(a.get());
  const std::string text = errors.of(PCSetFromOptions(pc.get()));
  EXPECT_THAT(text, HasSubstr("'max_step'"));
  EXPECT_THAT(text, HasSubstr("'max_steps'"));
}

TEST_F(PetscPc, TransportsAreOptions) {
  const OwnedMat a = assemble(problem("poisson2d:6"), equal_parts(36));
  ErrorText errors;
  option("-pc_prekond_transport", "mpi");
  const OwnedPC pc = make_pc(a.get(), "fsai", "-1");
  check(PCSetFromOptions(pc.get()));
  check(PCSetUp(pc.get()));
  EXPECT_THAT(text_of(pc.get()), ::testing::Not(HasSubstr("NCCL")));
  EXPECT_THAT(errors.of(PCPrekondSetOption(pc.get(), "transport", "ncl")), HasSubstr("transport"));
  if (!is_host_space<PetscSpace>) return;
  option("-pc_prekond_transport", "nccl");
  const OwnedPC by_option = make_pc(a.get(), "fsai", "-1");
  check(PCSetFromOptions(by_option.get()));
  EXPECT_THAT(errors.of(PCSetUp(by_option.get())), HasSubstr("transport: nccl cannot be"));
  // Also of methods that send no messages.
  for (const char* name : {"fsai", "ilu0"}) {
    const OwnedPC refused = make_pc(a.get(), name, "-1");
    check(PCPrekondSetOption(refused.get(), "transport", "nccl"));
    EXPECT_THAT(errors.of(PCSetUp(refused.get())),
                HasSubstr("Prekond: transport: nccl cannot be: it sends between CUDA devices"));
    check(PCPrekondSetOption(refused.get(), "transport", "auto"));
    check(PCSetUp(refused.get()));
  }
}

TEST_F(PetscPc, OtherTypesDoNotMind) {
  OwnedPC pc;
  check(PCCreate(PETSC_COMM_WORLD, pc.receive()));
  check(PCSetType(pc.get(), PCJACOBI));
  check(PCPrekondSetName(pc.get(), "spai"));
  check(PCPrekondSetOption(pc.get(), "no_such", "option"));
}

TEST_F(PetscPc, ViewBeforeASetup) {
  const OwnedMat a = assemble(problem("poisson2d:5"), equal_parts(25));
  const OwnedPC pc = make_pc(a.get(), "jacobi");
  const std::string text = text_of(pc.get());
  if (my_rank() == 0) {
    EXPECT_THAT(text, HasSubstr("method: jacobi"));
    EXPECT_THAT(text, HasSubstr("not set up"));
  }
  check(PCReset(pc.get()));
}

TEST_F(PetscPc, KrylovMethodsConvergeSooner) {
  const OwnedMat a = assemble(problem("poisson2d:40"), equal_parts(1600));
  const OwnedVec b = right_hand_side(a.get());
  const auto iterations = [&](const char* type, const char* name) {
    OwnedKSP ksp;
    OwnedVec x, r;
    PC pc = nullptr;
    check(VecDuplicate(b.get(), x.receive()));
    check(VecDuplicate(b.get(), r.receive()));
    check(KSPCreate(PETSC_COMM_WORLD, ksp.receive()));
    check(KSPSetOperators(ksp.get(), a.get(), a.get()));
    check(KSPSetType(ksp.get(), KSPCG));
    check(KSPSetTolerances(ksp.get(), 1e-8, PETSC_CURRENT, PETSC_CURRENT, 1000));
    check(KSPGetPC(ksp.get(), &pc));
    check(PCSetType(pc, type));
    if (name) check(PCPrekondSetName(pc, name));
    check(KSPSolve(ksp.get(), b.get(), x.get()));
    check(MatResidual(a.get(), b.get(), x.get(), r.get()));
    PetscReal residual = 0, size = 0;
    check(VecNorm(r.get(), NORM_2, &residual));
    check(VecNorm(b.get(), NORM_2, &size));
    EXPECT_LE(residual, 1e-6 * size);
    PetscInt count = 0;
    check(KSPGetIterationNumber(ksp.get(), &count));
    return count;
  };
  const PetscInt without = iterations(PCNONE, nullptr);
  EXPECT_EQ(iterations(PCPREKOND, "jacobi"), iterations(PCJACOBI, nullptr));
  EXPECT_LT(iterations(PCPREKOND, "fsai"), 0.75 * without);
  EXPECT_LT(iterations(PCPREKOND, "adaptive_fsai"), 0.6 * without);
}

}  // namespace
}  // namespace prekond::testing
