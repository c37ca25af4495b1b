// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/precond/local_methods.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>

#include <memory>

namespace prekond {

namespace impl::block {
template <class Scalar, class Space>
class SubdomainSolver;
}

/// What a row takes of the subdomains that have it.
enum class SchwarzCombine {
  restricted,  ///< what its own part's subdomain says
  additive     ///< the sum
};

inline std::vector<std::pair<std::string, SchwarzCombine>> schwarz_combinations() {
  return {{"restricted", SchwarzCombine::restricted}, {"additive", SchwarzCombine::additive}};
}

/// Parameters of the Schwarz methods.
struct SchwarzOptions : BlockMethodOptions {
  static constexpr const char* name = "schwarz";
  static constexpr const char* summary =
      "overlapping diagonal blocks of a partition of the rows, solved by any method and combined";
  static constexpr const char* paper = "Cai, Sarkis, SIAM J. Sci. Comput. 21 (1999)";

  int overlap = 1;
  SchwarzCombine combine = SchwarzCombine::restricted;

  /// \throws OptionError for num_blocks and block_size together, or one of them with supervariables
  void resolve() { BlockMethodOptions::resolve(name); }

  Properties properties() const { return with_combination(local_properties()); }
  /// Those of the local method, of a whole.
  Properties with_combination(Properties properties) const {
    if (combine == SchwarzCombine::restricted && overlap > 0) properties.symmetry = Symmetry::nonsymmetric;
    return properties;
  }

  template <class Visitor>
  void describe(Visitor& visit) {
    BlockMethodOptions::describe(visit);
    visit("overlap", overlap, 0, 1000,
          "levels of neighbours in A + A^T that a block gets; 0 is block_jacobi");
    visit("combine", combine, schwarz_combinations(),
          "restricted: a row takes the solution of its own block, not symmetric; additive: the sum of all "
          "blocks "
          "that have it, symmetric where the local method is");
    describe_local(visit);
  }
};

/// The Schwarz methods with one level: with R_d the rows of subdomain d, those of a part S_d of a partition
/// and their neighbours in A + A^T, `overlap` levels of them,
///
///   restricted (RAS):  M^-1 = sum_d Q_d^T A_d^-1 R_d,   Q_d = R_d on S_d and 0 on the others,
///   additive (AS):     M^-1 = sum_d R_d^T A_d^-1 R_d,   A_d = R_d A R_d^T,
///
/// each A_d^-1 by a local method. Partition, local methods, phases and breakdown are those of BlockJacobi,
/// which overlap = 0 is. The matrices A_d are laid out one behind the other: one setup and one application
/// for all. The restricted one writes each row once; the additive one sums a row's copies in the order of the
/// subdomains, so that it has the same bits for any number of threads.
///
/// RAS usually takes fewer iterations than AS and is not symmetric: gmres or bicgstab. AS is symmetric where
/// the local method is, positive definite where all A_d and that are, and then right for cg.
///
/// Cost: with n_e rows in all subdomains, the local method's for n_e rows; AS n_e numbers a vector more. The
/// subdomains grow on the host, in `symbolic`, by one thread: one pass over the graph's rows in each
/// subdomain. The report's notes say how long it took.
///
/// Source: Cai, Sarkis, SIAM J. Sci. Comput. 21 (1999); Saad, Iterative Methods for Sparse Linear Systems,
/// 2nd ed., section 14.3.3.
template <class Scalar, class Space>
class Schwarz : public MatrixPreconditioner<Scalar, Space> {
 public:
  using Method = MatrixPreconditioner<Scalar, Space>;
  using options_type = SchwarzOptions;
  using typename Method::matrix_source;

  /// \throws OptionError see SchwarzOptions::resolve; for an unknown local method or option of it
  explicit Schwarz(const SchwarzOptions& options = {});
  ~Schwarz() override;

  std::string name() const override { return SchwarzOptions::name; }
  Properties properties() const override;

  /// See BlockJacobi.
  void set_partition(const Space& space, const VectorView<const int, Space>& part);
  /// Of the last symbolic phase, without overlap. \throws std::logic_error before there was one
  const Partition<Space>& partition() const;
  /// Rows of all subdomains together, n_e; 0 before symbolic.
  std::int64_t num_overlapping_rows() const;

  /// See BlockJacobi.
  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override;
  const SchwarzOptions& options() const { return m_options; }

 protected:
  void symbolic_step(const Space& space, const matrix_source& source) override;
  void numeric_step(const Space& space, const matrix_source& source, Report& report) override;
  void numeric_without_rows(const Space& space, const matrix_source& source, Report& report) override;
  void apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                  MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;

 private:
  using Solver = impl::block::SubdomainSolver<Scalar, Space>;
  bool sums_copies() const { return m_options.combine == SchwarzCombine::additive && m_options.overlap > 0; }

  SchwarzOptions m_options;
  Vector<int, Space> m_given;
  std::unique_ptr<Solver> m_solver;
};

}  // namespace prekond
