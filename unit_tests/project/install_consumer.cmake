# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Installs the tree BUILD into a prefix under WORK, then configures, builds and runs EXAMPLES against that prefix; with
# TRILINOS also the project EXAMPLES/trilinos, which uses the package's component of that name, with PETSC also
# EXAMPLES/petsc.
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

# consume(SOURCE BUILD OPTION...): configures, builds and runs a project that uses the installed package.
function(consume source build)
  run(${CMAKE_COMMAND} -S ${source} -B ${build} -G ${GENERATOR} ${options} ${ARGN})
  # Nothing of the source tree may have come along.
  file(STRINGS ${build}/CMakeCache.txt found REGEX "^Prekond_DIR:")
  if(NOT found MATCHES "${prefix}")
    message(FATAL_ERROR "${source} found another Prekond: ${found}")
  endif()
  run(${CMAKE_COMMAND} --build ${build} --parallel 2)
  run(${CMAKE_CTEST_COMMAND} --test-dir ${build} --output-on-failure --no-tests=error)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
consume(${EXAMPLES} ${WORK}/build)
if(TRILINOS AND EXISTS ${EXAMPLES}/trilinos/CMakeLists.txt)
  consume(${EXAMPLES}/trilinos ${WORK}/build-trilinos -DTpetra_DIR=${TPETRA} -DIfpack2_DIR=${IFPACK2}
          -DBelos_DIR=${BELOS})
endif()
if(PETSC)
  consume(${EXAMPLES}/petsc ${WORK}/build-petsc)
endif()
