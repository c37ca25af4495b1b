// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "benchmark_main.hpp"

#include <prekond/matrix/generate.hpp>
#include "pattern/equal_rows.hpp"
#include "precond/approximate_inverse/adaptive_fsai/setup.hpp"

#include <algorithm>
#include <string>

/// Where the kernel of the adaptive FSAI's setup spends its time, with CUDA:
/// perf_adaptive_fsai_shares --matrix=elasticity3d:47 [--max_steps=30] [--step_size=1] [--tolerance=0]
/// [--repetitions=3]
///
/// The paper has a kernel for the gradient and the choice of its largest entries, one that gathers A[P, P]
/// and one that factors it; here one kernel has all of a row. Its warps read the clock before and after each
/// part, and the counters are the sums over all rows, over that of the whole: `gradient`, the update of A g;
/// `choice` of its largest entry; `member`, the look-up of the new row of A, W bordered by it, and the step
/// of g; `rest`, the row's beginning and psi in double. Growth in single precision, as by default; the time
/// is that of the setup with the clocks.

namespace prekond::impl::adaptive_fsai {

inline constexpr auto timed = static_cast<Gradient>(100);
enum Part { gradient, choice, member, whole, num_parts };
__device__ unsigned long long cycles[num_parts];

template <class Bucket>
struct TimedSet : HashedColumnSet<Bucket> {
  using HashedColumnSet<Bucket>::HashedColumnSet;
};
template <class Space>
struct ColumnSets<Space, timed> {
  using Small = TimedSet<unsigned short>;
  using Large = TimedSet<unsigned>;
};

/// A row that adds the cycles of its parts to the sums.
template <class Scalar, class Real, class Set, class Slot, class LaneGroup>
class TimedRow : public Row<Scalar, Real, Set, Slot, LaneGroup> {
  using Base = Row<Scalar, Real, Set, Slot, LaneGroup>;

 public:
  using Base::Base;

  KOKKOS_FUNCTION bool begin_step(bool last) {
    return time(gradient, [&] { return Base::begin_step(last); });
  }
  KOKKOS_FUNCTION int best_candidate() const {
    return time(choice, [&] { return Base::best_candidate(); });
  }
  KOKKOS_FUNCTION RowStatus add_member(int slot, int first) {
    return time(member, [&] { return Base::add_member(slot, first); });
  }
  KOKKOS_FUNCTION double exact_psi() {
    const double psi = Base::exact_psi();
    m_spent[whole] = now() - m_begin;
    this->m_lane_group.once([&] {
      for (int part = 0; part < num_parts; ++part) add(part);
    });
    return psi;
  }

 private:
  KOKKOS_FUNCTION static unsigned long long now() {
    KOKKOS_IF_ON_DEVICE((return static_cast<unsigned long long>(clock64());))
    KOKKOS_IF_ON_HOST((return 0;))
  }
  KOKKOS_FUNCTION void add(int part) const { KOKKOS_IF_ON_DEVICE((atomicAdd(cycles + part, m_spent[part]);)) }
  template <class Work>
  KOKKOS_FORCEINLINE_FUNCTION auto time(Part part, const Work& work) const {
    const auto begin = now();
    const auto result = work();
    m_spent[part] += now() - begin;
    return result;
  }

  unsigned long long m_begin = now();
  mutable unsigned long long m_spent[num_parts] = {};
};
template <class Scalar, class Real, class Bucket, class Slot, class LaneGroup>
struct RowOf<Scalar, Real, TimedSet<Bucket>, Slot, LaneGroup> {
  using type = TimedRow<Scalar, Real, TimedSet<Bucket>, Slot, LaneGroup>;
  using layout = Layout<in_precision_t<Scalar, Real>, Slot, TimedSet<Bucket>>;
};

}  // namespace prekond::impl::adaptive_fsai

namespace {

using namespace prekond;
using namespace prekond::impl::adaptive_fsai;
using perf::Space;
using A = CsrMatrix<double, int, std::size_t, Space::memory_space>;

struct Problem {
  A a;
  Vector<float, Space> values, diagonal, root;
  Vector<int, Space> representatives;
};

std::shared_ptr<Problem> make_problem(const std::string& spec) {
  const Space space;
  const auto problem = std::make_shared<Problem>();
  Kokkos::push_finalize_hook([problem] { *problem = {}; });
  problem->a = generate<double>(space, spec);
  const A a = problem->a;
  const Vector<float, Space> values("values", a.nnz()), diagonal("diagonal", a.num_rows),
      root("root", a.num_rows);
  Kokkos::parallel_for(
      "perf::to_single", Kokkos::RangePolicy<Space>(space, 0, a.num_rows), KOKKOS_LAMBDA(int i) {
        for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k) {
          values(k) = static_cast<float>(a.values(k));
          if (a.col_idxs(k) == i) diagonal(i) = values(k);
        }
        root(i) = Kokkos::sqrt(diagonal(i));
      });
  problem->values = values;
  problem->diagonal = diagonal;
  problem->root = root;
  problem->representatives = equal_row_representatives<Space>(space, a.row_ptrs, a.col_idxs);
  return problem;
}

double set_up(benchmark::State& state, const Problem& problem, const Parameters& parameters) {
  const Space space;
  const A& a = problem.a;
  const Matrix<double, float> matrix{
      a.row_ptrs.data(),       a.col_idxs.data(),   problem.values.data(),          a.values.data(),
      problem.diagonal.data(), problem.root.data(), problem.representatives.data(), a.num_rows};
  unsigned long long sums[num_parts] = {};
  cudaMemcpyToSymbol(cycles, sums, sizeof(sums));
  std::int64_t nnz = 0;
  const double time = perf::seconds(space, [&] {
    Setup<double, float, Space, false, timed> setup(space, matrix, a.nnz(), parameters,
                                                    std::int64_t(1) << 30);
    nnz = setup.grow().nnz();
  });
  cudaMemcpyFromSymbol(sums, cycles, sizeof(sums));
  const auto share = [&](Part part) { return double(sums[part]) / double(sums[whole]); };
  state.counters["rows"] = double(a.num_rows);
  state.counters["entries_a_row"] = double(nnz) / double(a.num_rows);
  state.counters["gradient"] = share(gradient);
  state.counters["choice"] = share(choice);
  state.counters["member"] = share(member);
  state.counters["rest"] = 1 - share(gradient) - share(choice) - share(member);
  return time;
}

void register_all(int& argc, char** argv) {
  const std::string spec = perf::take_flag(argc, argv, "matrix", "elasticity3d:47");
  Parameters parameters{};
  parameters.max_steps = std::stoi(perf::take_flag(argc, argv, "max_steps", "30"));
  parameters.step_size = std::stoi(perf::take_flag(argc, argv, "step_size", "1"));
  parameters.tolerance = std::stod(perf::take_flag(argc, argv, "tolerance", "0"));
  parameters.candidate_floor = 1e-5;
  parameters.pivot_floor = 16 * 0x1p-23;
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "3"));
  const auto problem = make_problem(spec);
  parameters.max_members = static_cast<int>(std::min<std::int64_t>(
      std::int64_t(parameters.max_steps) * parameters.step_size, problem->a.num_rows - 1));
  parameters.most_at_once = std::min(parameters.step_size, parameters.max_members);
  perf::add("shares/" + spec + "/" + std::to_string(parameters.max_steps) + "x" +
                std::to_string(parameters.step_size),
            repetitions, [=](benchmark::State& state) { return set_up(state, *problem, parameters); });
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, [](int& count, char** arguments) { register_all(count, arguments); });
}
