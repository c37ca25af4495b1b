// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/impl/device_speed.hpp>
#include <prekond/core/impl/setup_memory.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/precond/several_devices.hpp>
#include "sparse_product/transpose.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "core/instantiate.hpp"
#include "precond/distributed/devices/merge_reports.hpp"
#include "precond/distributed/devices/rows.hpp"
#include "precond/distributed/devices/sharing_rule.hpp"
#include "precond/distributed/devices/turns.hpp"
#include "precond/storage/matrices_of_method.hpp"

namespace prekond {

using namespace impl::devices;

template <class Scalar, class Space>
struct SeveralDevices<Scalar, Space>::Device {
  RowRange own, read;
  std::unique_ptr<Method> method;
  bool is_symbolic = false;  ///< the method has seen the pattern
  HeldViews held;
  DeviceReport report;
  std::int64_t rows_bytes = 0;  ///< of the copy of A's rows
  /// Of the numeric phase, until it ends: rows of G, G_L or M (of a right SPAI M^T); of G_U^T, where that is
  /// another one.
  FoundRows<Scalar, Space> first, second;
};

namespace {

/// An inverse that devices have found, kept and applied as that of one. `Inverse`: a FactoredInverse of G
/// twice or of G_L and G_U^T, or an ExplicitInverse of M twice.
template <class Scalar, class Space, class Inverse>
class KeptInverse : public Inverse {
 public:
  using typename Inverse::matrix_source;
  using typename Inverse::matrix_type;

  /// `method` outlives this.
  KeptInverse(const MatrixPreconditioner<Scalar, Space>& method, StoredAs as, const matrix_type& first,
              const matrix_type& second)
      : m_method(method), m_as(as), m_first(first), m_second(second) {}

  std::string name() const override { return m_method.name(); }
  Properties properties() const override { return m_method.properties(); }

 protected:
  void symbolic_step(const Space&, const matrix_source&) override {}
  void numeric_step(const Space& space, const matrix_source&, Report& report) override {
    const matrix_type first = std::exchange(m_first, {}), second = std::exchange(m_second, {});
    if constexpr (std::is_same_v<Inverse, FactoredInverse<Scalar, Space>>)
      this->store_factors(space, first, second, m_as, report);
    else
      this->store_inverse(space, first, m_as, report);
  }

 private:
  const MatrixPreconditioner<Scalar, Space>& m_method;
  StoredAs m_as;
  matrix_type m_first, m_second;
};

template <class Scalar, class Space>
void check_method(const MatrixPreconditioner<Scalar, Space>& method) {
  if (method.reach().levels >= 0) return;
  std::string all;
  for (const auto& name : methods_over_devices<Scalar, Space>()) all += name + ", ";
  throw InputError(method.name() +
                   " cannot be set up over several devices, because its rows depend on all others: choose " +
                   all + "without block_size=0 and relaxation_steps, or one device");
}

/// The speeds of the devices to each other; the same for all where one's is not known.
template <class Space>
std::vector<std::int64_t> speeds_of(const Space& first, const std::vector<Space>& others) {
  std::vector<std::int64_t> speeds;
  speeds.push_back(impl::speed_of_device(impl::number_of_device(first)));
  for (const Space& other : others) speeds.push_back(impl::speed_of_device(impl::number_of_device(other)));
  if (std::count(speeds.begin(), speeds.end(), 0) > 0) speeds.assign(speeds.size(), 1);
  return speeds;
}

/// Threads with one instance would read each other's results. \throws InputError
template <class Space>
void check_instances(const std::vector<Space>& spaces) {
  if constexpr (!is_host_space<Space>)
    for (auto space = spaces.begin(); space != spaces.end(); ++space)
      if (std::find(spaces.begin(), space, *space) != space)
        throw InputError(
            "number " + std::to_string(space - spaces.begin() + 1) +
            " of the devices' execution spaces is one of those before: take different instances");
}

}  // namespace

template <class Scalar, class Space>
SeveralDevices<Scalar, Space>::SeveralDevices(const Configurator<Method>& method,
                                              const std::vector<Space>& others, Sharing sharing)
    : m_method(method.resolved()), m_prototype(m_method->build()), m_others(others), m_sharing(sharing) {
  check_method<Scalar, Space>(*m_prototype);
}

template <class Scalar, class Space>
SeveralDevices<Scalar, Space>::~SeveralDevices() = default;

template <class Scalar, class Space>
void SeveralDevices<Scalar, Space>::set_listener(const Listener& listener) {
  m_listener = listener;
  if (!m_devices.empty()) m_devices.front().method->set_listener(listener);
  if (m_inverse) m_inverse->set_listener(listener);
}

/// Why one device sets up A; empty where several do.
template <class Scalar, class Space>
std::string SeveralDevices<Scalar, Space>::reason_for_one(const std::vector<Device>& devices,
                                                          const CsrView<Scalar, Space>& a) const {
  if (m_sharing == Sharing::always) return "";
  double rows_sent = 0;
  for (std::size_t k = 1; k < devices.size(); ++k) rows_sent += static_cast<double>(devices[k].read.size());
  const auto n = static_cast<double>(a.num_rows), bytes = static_cast<double>(a.bytes());
  const double one = time_on_one(name(), m_method->fields().values(), n, static_cast<double>(a.nnz()));
  const double shared = time_shared(one, rows_sent / n * bytes, num_devices(), !m_has_shared);
  if (shared < one) return "";
  const auto rounded = [](double time) { return std::to_string(std::llround(std::ceil(time))) + " ms"; };
  return "one of " + std::to_string(num_devices()) + " devices makes the setup: it would take them about " +
         rounded(shared) + ", and takes one " + rounded(one) + " (estimates for an H200)";
}

template <class Scalar, class Space>
void SeveralDevices<Scalar, Space>::symbolic_step(const Space& space, const matrix_source& source) {
  std::vector<Device> devices;
  std::string reason;
  if (source.num_rows() > 0 && num_devices() > 1) {
    devices = planned(space, source.csr());
    reason = reason_for_one(devices, source.csr());
  }
  std::unique_ptr<Method> one;
  if (devices.empty() || !reason.empty()) {
    devices.clear();
    one = m_method->build();
    one->set_listener(m_listener);
    one->symbolic(space, source);
  }
  m_has_shared = m_has_shared || !devices.empty();
  m_devices = std::move(devices);
  m_inverse = std::move(one);
  m_reason = reason;
}

/// The devices with their ranges, which wait for a numeric phase.
template <class Scalar, class Space>
auto SeveralDevices<Scalar, Space>::planned(const Space& space, const CsrView<Scalar, Space>& a) const
    -> std::vector<Device> {
  const RowReach reach = m_prototype->reach();
  const auto ranges = ranges_of_work<Space>(space, a, speeds_of(space, m_others), reach.block_rows);
  const auto read = ranges_read<Space>(space, a, ranges, reach);
  std::vector<Device> devices(ranges.size());
  for (std::size_t k = 0; k < ranges.size(); ++k) {
    devices[k].own = ranges[k];
    devices[k].read = read[k];
    devices[k].held = HeldViews(2 * static_cast<std::size_t>(a.bytes()));
    devices[k].report = {
        .first_row = ranges[k].begin, .num_rows = ranges[k].size(), .rows_read = read[k].size()};
    devices[k].method = impl::without_storage(*m_method).first;
    impl::keep_rows_only<Scalar, Space>(*devices[k].method);
  }
  devices.front().method->set_listener(m_listener);
  return devices;
}

/// The phases of a device's method: the symbolic one where that was not done.
template <class Scalar, class Space>
void SeveralDevices<Scalar, Space>::set_up(const Space& there, const CsrView<Scalar, Space>& a,
                                           const std::pair<double, double>& diagonal, Device& device) {
  const impl::SetupMemory memory(there);
  const Kokkos::Timer timer;
  const bool is_first = &device == &m_devices.front();
  const bool is_a = is_first && device.read.size() == a.num_cols;
  MatrixOn<Scalar, Space> copy;
  if (!is_a) copy = rows_on_device<Scalar, Space>(there, a, device.read, is_first);
  Vector<unsigned char, Space> wanted;
  MatrixSource<Scalar, Space> source(is_a ? a : CsrView<Scalar, Space>(copy));
  if (!(device.own == device.read)) {
    wanted = marks_of<Space>(there, device.read, device.own);
    source.set_wanted_rows(wanted);
  }
  if (diagonal.first > 0 && std::isfinite(diagonal.second))
    source.set_diagonals(diagonal.first, diagonal.second);
  device.report.copy_seconds = timer.seconds();
  device.rows_bytes = copy.bytes();
  if (!device.is_symbolic) device.method->symbolic(there, source);
  device.is_symbolic = true;
  device.method->numeric(there, source);
  const auto found = impl::found_by<Scalar, Space>(*device.method);
  const auto rows_of = [&](const auto& matrix) {
    return found_rows<Scalar, Space>(there, matrix, device.read, device.own);
  };
  device.first =
      rows_of(found.rows ? *found.rows : conjugate_transpose<Scalar, Space>(there, *found.columns));
  if (found.rows && found.columns && !found.are_transposes) device.second = rows_of(*found.columns);
  device.report.nnz = static_cast<std::int64_t>(device.first.last - device.first.first + device.second.last -
                                                device.second.first);
}

template <class Scalar, class Space>
void SeveralDevices<Scalar, Space>::numeric_step(const Space& space, const matrix_source& source,
                                                 Report& report) {
  if (m_devices.empty()) return numeric_on_one(space, source, report);
  const CsrView<Scalar, Space> a = source.csr();
  std::pair<double, double> diagonal = {0, 0};
  if (properties().needs_spd) diagonal = impl::range_of_diagonal<Scalar, Space>(space, a);
  std::vector<Space> spaces = {space};
  spaces.insert(spaces.end(), m_others.begin(), m_others.end());
  check_instances(spaces);
  std::vector<std::function<void()>> fences;
  for (const Space& one : spaces) fences.push_back([&one] { one.fence("prekond::devices::wait"); });
  std::vector<HeldViews*> held;
  for (Device& device : m_devices) held.push_back(&device.held);
  space.fence("prekond::devices::begin");  // the others read A
  const auto thrown = side_by_side(
      !is_host_space<Space>,
      [&](int k) {
        const auto place = static_cast<std::size_t>(k);
        if (m_devices[place].own.size() == 0) return;
        set_up(spaces[place], a, diagonal, m_devices[place]);
        spaces[place].fence("prekond::devices::end");
      },
      fences, held);
  std::vector<std::int64_t> first_rows;
  std::vector<DevicePart> parts;
  for (Device& device : m_devices) {
    const Report& own = device.method->report();
    const auto held_bytes = static_cast<std::int64_t>(device.held.release());
    first_rows.push_back(device.read.begin);
    parts.push_back(
        {device.report, device.read.begin, std::max(own.setup_bytes + device.rows_bytes, held_bytes), own});
  }
  throw_first(thrown, first_rows);
  gather(space, source, report);
  for (Device& device : m_devices) device.held.release();  // transposed parts
  merge_reports(parts, report);
}

template <class Scalar, class Space>
void SeveralDevices<Scalar, Space>::numeric_on_one(const Space& space, const matrix_source& source,
                                                   Report& report) {
  m_inverse->numeric(space, source);
  report = m_inverse->report();
  if (!m_reason.empty()) report.notes.push_back(m_reason);
}

/// The whole inverse on the first device, stored as the method's options say.
template <class Scalar, class Space>
void SeveralDevices<Scalar, Space>::gather(const Space& space, const matrix_source& source, Report& report) {
  const Kokkos::Timer timer;
  const auto found = impl::found_by<Scalar, Space>(*m_devices.front().method);
  const auto all = [&](FoundRows<Scalar, Space> Device::*part) {
    std::vector<FoundRows<Scalar, Space>> parts;
    for (Device& device : m_devices) parts.push_back(std::exchange(device.*part, {}));
    return gathered<Scalar, Space>(space, source.num_rows(), parts);
  };
  auto first = all(&Device::first);
  if (!found.rows) first = conjugate_transpose<Scalar, Space>(space, first);
  const bool two = found.rows && found.columns && !found.are_transposes;
  const auto second = two ? all(&Device::second) : first;
  const auto keep = [&]<class Inverse>(std::type_identity<Inverse>) {
    auto kept = std::make_unique<KeptInverse<Scalar, Space, Inverse>>(
        *m_prototype, impl::without_storage(*m_method).second, first, second);
    kept->numeric(space, source);
    m_inverse = std::move(kept);
  };
  if (found.rows && found.columns)
    keep(std::type_identity<FactoredInverse<Scalar, Space>>());
  else
    keep(std::type_identity<ExplicitInverse<Scalar, Space>>());
  report = m_inverse->report();
  report.gather_seconds = timer.seconds();
}

template <class Scalar, class Space>
void SeveralDevices<Scalar, Space>::apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                                               MultiVectorView<Scalar, Space> y, Workspace& workspace) const {
  Method::apply_step_of(*m_inverse, space, x, y, workspace);
}

template <class Scalar, class Space>
void SeveralDevices<Scalar, Space>::apply_add_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                                                   MultiVectorView<Scalar, Space> y,
                                                   Workspace& workspace) const {
  Method::apply_add_step_of(*m_inverse, space, x, y, workspace);
}

template <class Scalar, class Space>
std::unique_ptr<Workspace> SeveralDevices<Scalar, Space>::make_workspace(const Space& space,
                                                                         int num_vectors) const {
  if (!m_inverse) throw std::logic_error(name() + ": make_workspace before numeric");
  return m_inverse->make_workspace(space, num_vectors);
}

#define PREKOND_SEVERAL_DEVICES(Scalar, Space) template class SeveralDevices<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_SEVERAL_DEVICES)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_SEVERAL_DEVICES)

}  // namespace prekond
