# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# The flags of our own sources; users of the library do not inherit them.
add_library(prekond_build_flags INTERFACE)
target_compile_options(prekond_build_flags INTERFACE -Wall -Wextra -Wshadow -Wno-unknown-pragmas)
set(_cuda OFF)
if(Kokkos_ENABLE_CUDA OR "CUDA" IN_LIST Kokkos_DEVICES)
  set(_cuda ON)
  # GoogleTest's registration variables are unused by design; the wrapper names lane masks that host passes never use.
  target_compile_options(prekond_build_flags INTERFACE -Wno-unused-variable)
endif()
if(PREKOND_ARCH)
  target_compile_options(prekond_build_flags INTERFACE -march=${PREKOND_ARCH})
elseif(PREKOND_ENABLE_NATIVE)
  target_compile_options(prekond_build_flags INTERFACE -march=native)
endif()
if(PREKOND_ENABLE_SANITIZERS)
  target_compile_options(prekond_build_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined
                                                       -fno-omit-frame-pointer -g1)
  target_link_options(prekond_build_flags INTERFACE -fsanitize=address,undefined)
endif()
if(PREKOND_FUZZER)
  target_compile_options(prekond_build_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

if(PREKOND_ENABLE_COVERAGE)
  target_link_options(prekond_build_flags INTERFACE --coverage) # src/CMakeLists.txt has the option of the compiler
endif()

# The width of the processor's vector registers is part of the layout of dense factors.
include(CheckCXXSourceCompiles)
set(_options)
foreach(_target IN ITEMS prekond_build_flags Kokkos::kokkos Kokkos::kokkoscore)
  if(TARGET ${_target})
    get_target_property(_found ${_target} INTERFACE_COMPILE_OPTIONS)
    list(APPEND _options "${_found}")
  endif()
endforeach()
string(REGEX MATCHALL "-march=[^>;\"]+" _march "${_options}")
list(JOIN _march " " CMAKE_REQUIRED_FLAGS)
check_cxx_source_compiles("#ifndef __AVX__\n#error\n#endif\nint main() {}" PREKOND_HAS_AVX)
unset(CMAKE_REQUIRED_FLAGS)
set(PREKOND_HOST_VECTOR_BYTES 16)
if(PREKOND_HAS_AVX)
  set(PREKOND_HOST_VECTOR_BYTES 32)
endif()

set(PREKOND_PRECISIONS double)
if(PREKOND_ENABLE_SINGLE)
  list(APPEND PREKOND_PRECISIONS single)
elseif(PREKOND_ENABLE_TESTS AND PREKOND_TESTS STREQUAL "all")
  message(FATAL_ERROR "The unit tests need single precision: set PREKOND_ENABLE_TESTS=OFF or PREKOND_ENABLE_SINGLE=ON")
endif()

configure_file(${PROJECT_SOURCE_DIR}/include/prekond/core/version.hpp.in
               ${PROJECT_BINARY_DIR}/include/prekond/core/version.hpp @ONLY)

# prekond_precompile(TARGET): one header is precompiled for all libraries, with prekond_core, and one for an executable,
# whose code is compiled as such.
function(prekond_precompile target)
  if(NOT PREKOND_ENABLE_PCH OR _cuda)
    return()
  endif()
  get_target_property(type ${target} TYPE)
  if(target STREQUAL prekond_core OR type STREQUAL EXECUTABLE)
    target_precompile_headers(${target} PRIVATE <Kokkos_Core.hpp> <functional> <memory> <string> <vector>)
  else()
    target_precompile_headers(${target} REUSE_FROM prekond_core)
  endif()
endfunction()

# prekond_optimize(LEVEL SOURCE...): in release builds the sources are compiled with this level in place of the build
# type's: what runs once, or waits for files, is not worth the compiler's time. (A header that GCC precompiled at -O3 is
# good for -O2, not for -O1.)
function(prekond_optimize level)
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:${level}>)
endfunction()

# prekond_add_library(NAME SOURCES ... LINK ...): prekond::NAME, a static or shared library that is installed.
function(prekond_add_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK;LIBRARIES" ${ARGN})
  set(target prekond_${name})
  add_library(${target} ${arg_SOURCES})
  add_library(prekond::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(
    ${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
                     $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  list(TRANSFORM arg_LINK PREPEND prekond_)
  target_link_libraries(${target} PUBLIC Kokkos::kokkos ${arg_LINK})
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:prekond_build_flags> ${arg_LIBRARIES})
  prekond_precompile(${target})
  install(TARGETS ${target} EXPORT prekond_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
                                                   ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# prekond_link_layers(VARIABLE PRECISION LAYER...): the layers, each by its library for this precision where it has one.
function(prekond_link_layers variable precision)
  set(libraries)
  foreach(layer IN LISTS ARGN)
    if(TARGET prekond_${layer}_${precision})
      list(APPEND libraries ${layer}_${precision})
    else()
      list(APPEND libraries ${layer})
    endif()
  endforeach()
  set(${variable} ${libraries} PARENT_SCOPE)
endfunction()

# prekond_add_layer(NAME SOURCES ... METHODS ... LAYERS ...): one folder of include/prekond is one layer is one target,
# prekond::NAME, which links only the layers below it. Its METHODS are compiled once for each precision, as libraries of
# their own, NAME_double (double and complex<double>, and what has no precision) and NAME_single: a program that
# has only doubles, as the command, links and compiles only these (with the layers below: prekond::double). Single
# precision never comes without double. The SOURCES are compiled once, and call no METHODS of their own layer.
function(prekond_add_layer name)
  cmake_parse_arguments(arg "" "" "SOURCES;METHODS;LAYERS;LIBRARIES" ${ARGN})
  prekond_link_layers(layers double ${arg_LAYERS})
  if(NOT arg_METHODS)
    prekond_add_library(${name} SOURCES ${arg_SOURCES} LINK ${layers} LIBRARIES ${arg_LIBRARIES})
    return()
  endif()
  if(arg_SOURCES)
    prekond_add_library(${name}_common SOURCES ${arg_SOURCES} LINK ${layers} LIBRARIES ${arg_LIBRARIES})
  endif()
  add_library(prekond_${name} INTERFACE)
  add_library(prekond::${name} ALIAS prekond_${name})
  set_target_properties(prekond_${name} PROPERTIES EXPORT_NAME ${name})
  foreach(precision IN LISTS PREKOND_PRECISIONS)
    prekond_link_layers(layers ${precision} ${arg_LAYERS})
    if(precision STREQUAL single)
      list(PREPEND layers ${name}_double)
    elseif(arg_SOURCES)
      list(PREPEND layers ${name}_common)
    endif()
    prekond_add_library(${name}_${precision} SOURCES ${arg_METHODS} LINK ${layers})
    string(TOUPPER ${precision} upper)
    target_compile_definitions(prekond_${name}_${precision} PRIVATE PREKOND_ONLY_${upper})
    target_link_libraries(prekond_${name} INTERFACE prekond_${name}_${precision})
  endforeach()
  install(TARGETS prekond_${name} EXPORT prekond_targets)
endfunction()

# prekond_add_adapter(NAME [LIBRARY prekond_double] SOURCES ... LIBRARIES ...): what joins the library, or the part of it that
# LIBRARY names, to another package, as target prekond::NAME and as component NAME of the installed package.
function(prekond_add_adapter name)
  cmake_parse_arguments(arg "" "LIBRARY" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT arg_LIBRARY)
    set(arg_LIBRARY prekond)
  endif()
  set(target prekond_${name})
  if(arg_SOURCES)
    add_library(${target} ${arg_SOURCES})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:prekond_build_flags>)
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(prekond::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_link_libraries(${target} ${scope} ${arg_LIBRARY} ${arg_LIBRARIES})
  install(TARGETS ${target} EXPORT prekond_${name}_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
                                                           ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  set_property(GLOBAL APPEND PROPERTY PREKOND_ADAPTERS ${name})
endfunction()
