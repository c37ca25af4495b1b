// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace prekond::testing {

/// Messages from one rank to another that this rank has sent, and receives that it has posted, by any library
/// of the program. Tests set them to zero before what they count.
struct Messages {
  int sent = 0;
  int received = 0;
};
extern Messages messages;

}  // namespace prekond::testing
