// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/scalar.hpp>
#include <prekond/precond/several_devices.hpp>
#include "pattern/fingerprint.hpp"
#include "sparse_product/transpose.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/instantiate.hpp"
#include "precond/distributed/devices/copies.hpp"
#include "precond/distributed/devices/held_views.hpp"
#include "precond/distributed/devices/kept_inverse.hpp"
#include "precond/distributed/devices/merge_reports.hpp"
#include "precond/distributed/devices/row_ranges.hpp"
#include "precond/distributed/devices/side_by_side.hpp"
#include "precond/storage/matrices_of_method.hpp"

namespace prekond {

using impl::devices::FoundRows;
using impl::devices::RowRange;

template <class Scalar, class Space>
struct SeveralDevices<Scalar, Space>::Device {
  RowRange own, read;
  impl::devices::HeldViews held;
  std::int64_t held_bytes = 0;  ///< at most, of the last phase
  std::unique_ptr<Method> method;
  std::optional<impl::devices::RowsOnDevice<Scalar, Space>> rows;  ///< from `symbolic` until `numeric` ends
  double symbolic_copy_seconds = 0, copy_seconds = 0;
  std::int64_t rows_bytes = 0;  ///< of A
  std::int64_t kept_bytes = 0;  ///< of these, what was there before the numeric phase
  std::int64_t nnz = 0;         ///< of its own rows
  /// Of the numeric phase, until it ends: rows of G, G_L or M (of a right SPAI M^T); of G_U^T, where that is
  /// another one.
  FoundRows<Scalar, Space> first, second;
};

namespace {

template <class Scalar, class Space>
using Matrix = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;

template <class Scalar, class Space>
void check_method(const MatrixPreconditioner<Scalar, Space>& method) {
  if (method.reach().levels >= 0) return;
  const auto able = methods_over_devices<Scalar, Space>();
  std::string all;
  for (const auto& name : able) all += (all.empty() ? "" : ", ") + name;
  if (std::find(able.begin(), able.end(), method.name()) == able.end())
    throw InputError(
        method.name() +
        " cannot be set up over several devices, because its rows depend on all others: choose " + all +
        ", or one device");
  throw InputError(method.name() +
                   " with these options cannot be set up over several devices, because its rows depend on "
                   "all others: leave out block_size=0 and relaxation_steps, or choose one device");
}

/// Threads with one instance would read each other's results. \throws InputError
template <class Space>
void check_instances(const std::vector<Space>& spaces) {
  if constexpr (!is_host_space<Space>)
    for (std::size_t k = 1; k < spaces.size(); ++k)
      if (std::find(spaces.begin(), spaces.begin() + static_cast<std::ptrdiff_t>(k), spaces[k]) !=
          spaces.begin() + static_cast<std::ptrdiff_t>(k))
        throw InputError(
            "number " + std::to_string(k + 1) +
            " of the devices' execution spaces is one of those before: take different instances");
}

/// The part of the method's matrix on a device.
template <class Scalar, class Space>
MatrixSource<Scalar, Space> source_of(const CsrView<Scalar, Space>& rows,
                                      const Vector<unsigned char, Space>& wanted,
                                      const std::pair<double, double>& diagonal) {
  MatrixSource<Scalar, Space> source(rows);
  if (wanted.extent(0) > 0) source.set_wanted_rows(wanted);
  if (diagonal.first > 0 && std::isfinite(diagonal.second))
    source.set_diagonals(diagonal.first, diagonal.second);
  return source;
}

}  // namespace

template <class Scalar, class Space>
SeveralDevices<Scalar, Space>::SeveralDevices(const Configurator<Method>& method,
                                              const std::vector<Space>& others)
    : m_method(method.resolved()), m_prototype(m_method->build()), m_others(others) {
  check_method<Scalar, Space>(*m_prototype);
}

template <class Scalar, class Space>
SeveralDevices<Scalar, Space>::~SeveralDevices() = default;

template <class Scalar, class Space>
void SeveralDevices<Scalar, Space>::set_listener(const Listener& listener) {
  m_listener = listener;
  if (!m_devices.empty() && m_devices.front().method) listen(*m_devices.front().method);
}

/// The first device has the listener, in the calling thread.
template <class Scalar, class Space>
void SeveralDevices<Scalar, Space>::listen(Method& method) const {
  if (!m_listener) return method.set_listener({});
  method.set_listener([listener = m_listener](const std::string& text) {
    try {
      listener(text);
    } catch (...) {
      throw impl::devices::ThrownByListener{std::current_exception()};
    }
  });
}

/// `work(space, device)` on all devices that have rows.
template <class Scalar, class Space>
template <class Work>
void SeveralDevices<Scalar, Space>::on_all(const Space& space, std::vector<Device>& devices,
                                           const Work& work) const {
  std::vector<Space> spaces = {space};
  spaces.insert(spaces.end(), m_others.begin(), m_others.end());
  check_instances(spaces);
  std::vector<std::function<void()>> fences;
  for (const Space& one : spaces) fences.push_back([&one] { one.fence("prekond::devices::wait"); });
  space.fence("prekond::devices::begin");  // the others read A
  std::vector<impl::devices::HeldViews*> held;
  for (Device& device : devices) {
    device.held.begin_phase();
    held.push_back(&device.held);
  }
  const auto thrown = impl::devices::side_by_side(
      impl::devices::manner_of<Space>(), num_devices(),
      [&](int k) {
        const auto place = static_cast<std::size_t>(k);
        if (devices[place].own.size() == 0) return;
        work(spaces[place], devices[place]);
        spaces[place].fence("prekond::devices::end");
      },
      fences, held);
  std::vector<std::int64_t> first_rows;
  for (Device& device : devices) {
    first_rows.push_back(device.read.begin);
    device.held_bytes = static_cast<std::int64_t>(device.held.peak());
    device.held.release();
  }
  impl::devices::throw_first(thrown, first_rows);
}

template <class Scalar, class Space>
void SeveralDevices<Scalar, Space>::symbolic_step(const Space& space, const matrix_source& source) {
  const CsrView<Scalar, Space> a = source.csr();
  const RowReach reach = m_prototype->reach();
  const auto ranges = impl::devices::ranges_of_equal_work<Space>(space, a, num_devices(), reach.block_rows);
  const auto read = impl::devices::ranges_read<Space>(space, a, ranges, reach);
  const std::uint64_t pattern = fingerprint<Space>(space, a);
  std::vector<Device> devices(ranges.size());
  for (std::size_t k = 0; k < ranges.size(); ++k) {
    devices[k].own = ranges[k];
    devices[k].read = read[k];
    devices[k].method = impl::without_storage(*m_method).first;
    impl::keep_rows_only<Scalar, Space>(*devices[k].method);
    devices[k].held.set_limit(2 * static_cast<std::size_t>(a.bytes()));
  }
  listen(*devices.front().method);
  on_all(space, devices, [&](const Space& there, Device& device) {
    const Kokkos::Timer timer;
    device.rows =
        impl::devices::pattern_on_device<Scalar, Space>(there, a, device.read, &device == &devices.front());
    const auto wanted = device.own == device.read
                            ? Vector<unsigned char, Space>()
                            : impl::devices::marks_of<Space>(there, device.read, device.own);
    device.symbolic_copy_seconds = timer.seconds();
    device.method->symbolic(there, source_of<Scalar, Space>(device.rows->view, wanted, {0, 0}));
  });
  m_devices = std::move(devices);
  m_inverse = nullptr;
  m_pattern = pattern;
}

template <class Scalar, class Space>
void SeveralDevices<Scalar, Space>::numeric_step(const Space& space, const matrix_source& source,
                                                 Report& report) {
  const CsrView<Scalar, Space> a = source.csr();
  const auto diagonal = properties().needs_spd ? impl::range_of_diagonal<Scalar, Space>(space, a)
                                               : std::pair<double, double>(0, 0);
  const bool has_rows =
      std::any_of(m_devices.begin(), m_devices.end(), [](const Device& device) { return bool(device.rows); });
  if (has_rows && fingerprint<Space>(space, a) != m_pattern)
    for (Device& device : m_devices) device.rows.reset();
  on_all(space, m_devices, [&](const Space& there, Device& device) {
    const Kokkos::Timer timer;
    auto kept = std::exchange(device.rows, std::nullopt);
    auto rows = kept ? std::move(*kept)
                     : impl::devices::pattern_on_device<Scalar, Space>(there, a, device.read,
                                                                       &device == &m_devices.front());
    impl::devices::copy_values<Scalar, Space>(there, a, rows);
    const auto wanted = device.own == device.read
                            ? Vector<unsigned char, Space>()
                            : impl::devices::marks_of<Space>(there, device.read, device.own);
    device.copy_seconds = timer.seconds();
    device.rows_bytes = rows.bytes();
    device.kept_bytes = kept ? device.rows_bytes : 0;
    device.method->numeric(there, source_of<Scalar, Space>(rows.view, wanted, diagonal));
    const auto found = impl::found_by<Scalar, Space>(*device.method);
    const auto rows_of = [&](const Matrix<Scalar, Space>& matrix) {
      return impl::devices::found_rows<Scalar, Space>(there, matrix, device.read, device.own);
    };
    if (found.rows) device.first = rows_of(*found.rows);
    if (found.rows && found.columns && !found.are_transposes) device.second = rows_of(*found.columns);
    if (!found.rows) device.first = rows_of(conjugate_transpose<Scalar, Space>(there, *found.columns));
    device.nnz = static_cast<std::int64_t>(device.first.last - device.first.first + device.second.last -
                                           device.second.first);
  });
  gather(space, source, report);
}

template <class Scalar, class Space>
void SeveralDevices<Scalar, Space>::gather(const Space& space, const matrix_source& source, Report& report) {
  using namespace impl::devices;
  const Kokkos::Timer timer;
  const auto found = impl::found_by<Scalar, Space>(*m_devices.front().method);
  const auto all = [&](FoundRows<Scalar, Space> Device::*part) {
    std::vector<FoundRows<Scalar, Space>> parts;
    for (Device& device : m_devices) parts.push_back(std::exchange(device.*part, {}));
    return gathered<Scalar, Space>(space, source.num_rows(), parts);
  };
  Matrix<Scalar, Space> first = all(&Device::first);
  const bool two = found.rows && found.columns && !found.are_transposes;
  const Matrix<Scalar, Space> second = two ? all(&Device::second) : first;
  for (Device& device : m_devices) device.held.release();  // transposed parts
  if (!found.rows) first = conjugate_transpose<Scalar, Space>(space, first);
  const auto keep = [&](auto kept) {
    kept->give(first, second);
    kept->numeric(space, source);
    m_inverse = std::move(kept);
  };
  const StoredAs as = impl::without_storage(*m_method).second;
  if (found.rows && found.columns)
    keep(std::make_unique<KeptInverse<Scalar, Space, FactoredInverse<Scalar, Space>>>(name(), properties(),
                                                                                      as));
  else
    keep(std::make_unique<KeptInverse<Scalar, Space, ExplicitInverse<Scalar, Space>>>(name(), properties(),
                                                                                      as));
  report = m_inverse->report();
  report.gather_seconds = timer.seconds();
  std::vector<DevicePart> parts;
  for (const Device& device : m_devices)
    parts.push_back({device.own.begin, device.own.size(), device.read.begin, device.read.size(), device.nnz,
                     device.rows_bytes, device.held_bytes + device.kept_bytes,
                     device.symbolic_copy_seconds + device.copy_seconds, device.method->report()});
  merge_reports(parts, report);
}

template <class Scalar, class Space>
void SeveralDevices<Scalar, Space>::numeric_without_rows(const Space& space, const matrix_source& source,
                                                         Report& report) {
  const auto found = impl::found_by<Scalar, Space>(*m_prototype);
  using namespace impl::devices;
  if (found.rows && found.columns)
    m_inverse = std::make_unique<KeptInverse<Scalar, Space, FactoredInverse<Scalar, Space>>>(
        name(), properties(), Storage::full);
  else
    m_inverse = std::make_unique<KeptInverse<Scalar, Space, ExplicitInverse<Scalar, Space>>>(
        name(), properties(), Storage::full);
  m_inverse->numeric(space, source);
  report.devices.resize(m_devices.size());
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
