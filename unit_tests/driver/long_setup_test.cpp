// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The note of the command `prekond` before a setup that takes minutes, which is ended once it has said so.
#include "testing/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/views.hpp>

#include <cstdlib>
#include <sstream>
#include <string>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(LongSetup, IsToldOfBeforeOnStandardError) {
  const TemporaryFolder folder("long_setup");
  const int n = 10000;
  std::ostringstream arrow;
  arrow << "%%MatrixMarket matrix coordinate real symmetric\n" << n << ' ' << n << ' ' << 2 * n - 1 << '\n';
  for (int i = 1; i <= n; ++i) arrow << i << ' ' << i << " 3\n";
  for (int i = 2; i <= n; ++i) arrow << i << " 1 0.001\n";
  const std::string matrix = folder.write("arrow.mtx", arrow.str()), err = folder / "err";
  // It waits no longer than until the line is there, and a minute where it does not come.
  const std::string script = std::string(PREKOND_DRIVER_PATH) + " solve " + matrix +
                             " --solver bicgstab --precond isai --kokkos-num-threads=1 >/dev/null 2>" + err +
                             " & pid=$!; k=0; while kill -0 $pid 2>/dev/null && ! grep -q minutes " + err +
                             " && [ $k -lt 600 ]; do sleep 0.1; k=$((k + 1)); done; kill -9 $pid; wait $pid";
  [[maybe_unused]] const int ended = std::system(script.c_str());
  // One thread of a host, or one team of a device.
  const std::string minutes = is_host_space<Kokkos::DefaultExecutionSpace> ? "3" : "2";
  EXPECT_THAT(read_bytes(err),
              AllOf(HasSubstr("prekond: note: isai: the setup's 6.7e+11 operations may take " + minutes +
                              " minutes; 6.7e+11 are those of row 0 (from 0), which has 10000 entries\n"),
                    Not(HasSubstr("error"))));
}

}  // namespace
}  // namespace prekond::testing
