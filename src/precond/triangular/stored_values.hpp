// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A factor's values in another precision, without scales.
#include <prekond/core/views.hpp>
#include <prekond/precond/setup_options.hpp>
#include "core/half.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace prekond::impl::sweeps {

/// The largest number of a type that values are stored in.
template <class Value>
inline constexpr double largest_stored = static_cast<double>(std::numeric_limits<Value>::max());
template <>
inline constexpr double largest_stored<Half> = 65504;
template <>
inline constexpr double largest_stored<BFloat16> = 0x1.fep127;

/// Stores values, and counts those that are cut and those that become 0.
template <class Value, class Scalar, class Space>
struct StoreValues {
  VectorView<const Scalar, Space> from;
  VectorView<Value, Space> to;
  KOKKOS_FUNCTION void operator()(std::int64_t k, std::int64_t& cut, std::int64_t& vanished) const {
    constexpr double most = largest_stored<Value>;
    const auto value = static_cast<double>(from(k));
    const auto result = static_cast<Value>(value > most ? most : (value < -most ? -most : value));
    to(k) = result;
    if (Kokkos::abs(value) > most) ++cut;
    if (value != 0 && static_cast<double>(result) == 0) ++vanished;
  }
};

/// The losses of a precision other than the factors'.
struct Lost {
  std::int64_t cut = 0, vanished = 0;
};

/// Adds to `lost`. Fences where Value is not Scalar.
template <class Value, class Scalar, class Space>
Vector<Value, Space> stored(const Space& space, const Vector<Scalar, Space>& values, Lost& lost) {
  if constexpr (std::is_same_v<Value, Scalar>) {
    return values;
  } else {
    const auto result =
        allocate<Vector<Value, Space>>(space, "prekond::relaxation::stored_values", values.extent(0));
    Lost own;
    Kokkos::parallel_reduce(
        "prekond::relaxation::numeric::store",
        Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, values.extent(0)),
        StoreValues<Value, Scalar, Space>{values, result}, own.cut, own.vanished);
    lost.cut += own.cut;
    lost.vanished += own.vanished;
    return result;
  }
}

/// A sentence on each kind of loss.
inline void note_lost(const std::string& name, const Lost& lost, std::vector<std::string>& notes) {
  if (lost.cut > 0)
    notes.push_back(name + ": " + std::to_string(lost.cut) +
                    " entries beyond the range of the storage were cut to its largest number");
  if (lost.vanished > 0)
    notes.push_back(name + ": " + std::to_string(lost.vanished) +
                    " entries below the range of the storage became 0");
}

/// Calls make(std::type_identity<Value>) with the type that a storage keeps values in.
template <class Scalar, class Make>
auto with_stored_type(Storage storage, const Make& make) {
  switch (storage) {
    case Storage::half:
      return make(std::type_identity<Half>());
    case Storage::bfloat16:
      return make(std::type_identity<BFloat16>());
    case Storage::single_precision:
      return make(std::type_identity<float>());
    case Storage::full:
      break;
  }
  return make(std::type_identity<Scalar>());
}

}  // namespace prekond::impl::sweeps
