# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

cmake_minimum_required(VERSION 3.25)

# Fails where the files BEFORE and AFTER differ in more than MOST lines, or not at all. A line that another one replaces
# counts twice, as `diff` shows it.
file(STRINGS ${BEFORE} before)
file(STRINGS ${AFTER} after)
list(LENGTH before length)
list(LENGTH after other_length)
if(NOT length EQUAL other_length)
  message(FATAL_ERROR "${BEFORE} has ${length} lines, ${AFTER} ${other_length}: the swap replaces lines one by one")
endif()
set(changed 0)
foreach(from to IN ZIP_LISTS before after)
  if(NOT from STREQUAL to)
    math(EXPR changed "${changed} + 2")
    message("- ${from}\n+ ${to}")
  endif()
endforeach()
if(changed EQUAL 0 OR changed GREATER MOST)
  message(FATAL_ERROR "${changed} changed lines; expected are 1 to ${MOST}")
endif()
message("${changed} changed lines")
