// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef PREKOND_ONLY_SINGLE  // arrays of doubles go with double
#include <prekond/precond/amg.hpp>
#include <prekond/precond/host_solver.hpp>
#include <prekond/precond/linear_solver.hpp>

#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace prekond {
namespace {

using Space = Kokkos::DefaultExecutionSpace;
template <class T>
using HostView = Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

void start_kokkos() {
  if (Kokkos::is_initialized()) return;
  Kokkos::initialize();
  std::atexit([] {
    if (Kokkos::is_initialized()) Kokkos::finalize();
  });
}

/// A copy on the device, made before it returns.
template <class T>
Vector<T, Space> to_device(const Space& space, const char* label, std::span<const T> from) {
  const auto to = allocate<Vector<T, Space>>(space, label, from.size());
  Kokkos::deep_copy(space, to, HostView<const T>(from.data(), from.size()));
  space.fence(label);
  return to;
}

/// Row pointers that later code can trust. \throws InputError that names the first fault
std::vector<std::size_t> checked_ptrs(const CsrArrays& a) {
  std::vector<std::size_t> ptrs(a.long_ptrs.begin(), a.long_ptrs.end());
  for (const int ptr : a.int_ptrs) {
    if (ptr < 0) throw InputError("row_ptrs has a negative element, " + std::to_string(ptr));
    ptrs.push_back(static_cast<std::size_t>(ptr));
  }
  if (ptrs.size() < 2)
    throw InputError("the matrix is empty: row_ptrs has a number for each row and one more");
  if (ptrs.front() != 0)
    throw InputError("row_ptrs begins with " + std::to_string(ptrs.front()) +
                     ", and not with 0; rows and columns are counted from 0");
  for (std::size_t i = 1; i < ptrs.size(); ++i)
    if (ptrs[i] < ptrs[i - 1])
      throw InputError("row_ptrs falls from " + std::to_string(ptrs[i - 1]) + " to " +
                       std::to_string(ptrs[i]) + " at row " + std::to_string(i - 1) + " (from 0)");
  if (ptrs.back() != a.col_idxs.size() || a.col_idxs.size() != a.values.size())
    throw InputError("row_ptrs ends with " + std::to_string(ptrs.back()) + ", and there are " +
                     std::to_string(a.col_idxs.size()) + " columns and " + std::to_string(a.values.size()) +
                     " values; all three are the number of entries");
  return ptrs;
}

}  // namespace

/// The rigid body modes of coordinates; without unknowns there are none.
struct RigidBodies {
  MultiVector<double, Space> modes;
  int unknowns_per_node = 0;
};

struct HostSolver::State {
  explicit State(const LinearSolverOptions& options) : solver(options) {}

  /// A with these values, on the device.
  void use(std::span<const double> values) {
    matrix.values = to_device<double>(space, "prekond::host_solver::values", values);
  }

  MatrixSource<double, Space> source() const {
    MatrixSource<double, Space> a(matrix);
    if (near.unknowns_per_node == 0) return a;
    a.set_unknowns_per_node(near.unknowns_per_node);
    a.set_near_null_space(near.modes);
    return a;
  }

  Space space;
  LinearSolver<double, Space> solver;
  RigidBodies near;   ///< of the matrix
  RigidBodies given;  ///< of the next one
  CsrMatrix<double, int, std::size_t, Space::memory_space> matrix;
  bool has_matrix = false, was_solved = false;
};

HostSolver::HostSolver(const LinearSolverOptions& options) {
  start_kokkos();
  m_state = std::make_unique<State>(options);
}
HostSolver::~HostSolver() = default;

void HostSolver::set_coordinates(std::span<const double> coordinates, int dimensions) {
  State& own = *m_state;
  if (coordinates.empty()) {
    own.given = {};
    return;
  }
  const auto d = static_cast<std::size_t>(dimensions);
  if ((dimensions != 2 && dimensions != 3) || coordinates.size() % d != 0)
    throw InputError("set_coordinates was given " + std::to_string(coordinates.size()) + " numbers in " +
                     std::to_string(dimensions) + " dimensions; a node has 2 or 3 coordinates");
  const Kokkos::View<const double**, Kokkos::LayoutRight, Kokkos::HostSpace,
                     Kokkos::MemoryTraits<Kokkos::Unmanaged>>
      given(coordinates.data(), coordinates.size() / d, d);
  const auto nodes = allocate<MultiVector<double, Space>>(own.space, "prekond::host_solver::coordinates",
                                                          given.extent(0), dimensions);
  const auto on_host = Kokkos::create_mirror_view(nodes);
  Kokkos::deep_copy(on_host, given);
  Kokkos::deep_copy(own.space, nodes, on_host);
  own.given = {rigid_body_modes<double, Space>(own.space, nodes), dimensions};
  own.space.fence("prekond::host_solver::coordinates");
}

void HostSolver::set_matrix(const CsrArrays& a) {
  State& own = *m_state;
  const std::vector<std::size_t> ptrs = checked_ptrs(a);
  if (own.given.unknowns_per_node > 0 && own.given.modes.extent(0) != ptrs.size() - 1)
    throw InputError("set_coordinates was given nodes with " + std::to_string(own.given.modes.extent(0)) +
                     " displacements, and the matrix has " + std::to_string(ptrs.size() - 1) + " rows");
  own.has_matrix = own.was_solved = false;
  own.near = own.given;
  own.matrix.num_rows = own.matrix.num_cols = static_cast<std::int64_t>(ptrs.size()) - 1;
  own.matrix.row_ptrs = to_device<std::size_t>(own.space, "prekond::host_solver::row_ptrs", ptrs);
  own.matrix.col_idxs = to_device<int>(own.space, "prekond::host_solver::col_idxs", a.col_idxs);
  own.use(a.values);
  own.solver.set_matrix(own.space, own.source());
  own.has_matrix = true;
}

void HostSolver::set_values(std::span<const double> values) {
  State& own = *m_state;
  if (!own.has_matrix) throw std::logic_error("HostSolver: set_values before set_matrix");
  if (values.size() != own.matrix.col_idxs.extent(0))
    throw InputError("set_values was given " + std::to_string(values.size()) +
                     " values, and the matrix has " + std::to_string(own.matrix.col_idxs.extent(0)) +
                     " entries");
  own.use(values);
  own.solver.set_values(own.space, own.source());
}

SolveResult HostSolver::solve(std::span<const double> b, std::span<double> x) {
  State& own = *m_state;
  if (!own.has_matrix) throw std::logic_error("HostSolver: solve before set_matrix");
  const auto n = static_cast<std::size_t>(own.matrix.num_rows);
  if (b.size() != n || x.size() != n)
    throw InputError("b has " + std::to_string(b.size()) + " and x " + std::to_string(x.size()) +
                     " elements, and the matrix has " + std::to_string(n) + " rows");
  const auto side = to_device<double>(own.space, "prekond::host_solver::b", b);
  const auto solution = to_device<double>(own.space, "prekond::host_solver::x", std::span<const double>(x));
  const SolveResult result = own.solver.solve(own.space, side, solution);
  own.was_solved = true;
  Kokkos::deep_copy(own.space, HostView<double>(x.data(), n), solution);
  own.space.fence("prekond::host_solver::x");
  return result;
}

std::string HostSolver::methods() const {
  return m_state->was_solved ? to_string(m_state->solver.chosen()) : "";
}
const std::vector<std::string>& HostSolver::notes() const {
  static const std::vector<std::string> none;
  return m_state->has_matrix ? m_state->solver.notes() : none;
}
std::int64_t HostSolver::setups() const {
  return m_state->solver.setups();
}

SolveResult solve(const CsrArrays& a, std::span<const double> b, std::span<double> x,
                  const LinearSolverOptions& options) {
  HostSolver solver(options);
  solver.set_matrix(a);
  return solver.solve(b, x);
}

}  // namespace prekond
#endif
