# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Installs the tree BUILD into a prefix under WORK, then configures, builds and runs EXAMPLES against that prefix.
function(run)
  list(JOIN ARGN " " text)
  message(STATUS "${text}")
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/prefix)
if(SANITIZERS)
  string(APPEND CXX_FLAGS " -fsanitize=address,undefined")
endif()
# Where the dependencies are goes through the environment: a list inside of an argument would come apart.
list(JOIN PREFIX_PATH ":" others)
set(ENV{CMAKE_PREFIX_PATH} "${others}:$ENV{CMAKE_PREFIX_PATH}")
set(options -DCMAKE_BUILD_TYPE=${BUILD_TYPE} -DCMAKE_CXX_COMPILER=${COMPILER} "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}"
            -DCMAKE_PREFIX_PATH=${prefix})
if(LAUNCHER)
  list(APPEND options -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
endif()
if(KOKKOS)
  list(APPEND options -DKokkos_DIR=${KOKKOS})
endif()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
run(${CMAKE_COMMAND} -S ${EXAMPLES} -B ${WORK}/build -G ${GENERATOR} ${options})
# Nothing of the source tree may have come along.
file(STRINGS ${WORK}/build/CMakeCache.txt found REGEX "^Prekond_DIR:")
if(NOT found MATCHES "${prefix}")
  message(FATAL_ERROR "The examples found another Prekond: ${found}")
endif()
run(${CMAKE_COMMAND} --build ${WORK}/build --parallel 2)
run(${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/build --output-on-failure --no-tests=error)
