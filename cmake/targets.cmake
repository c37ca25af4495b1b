# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# What our own sources are compiled with; users of the library do not inherit it.
add_library(prekond_build_flags INTERFACE)
target_compile_options(prekond_build_flags INTERFACE -Wall -Wextra -Wshadow -Wno-unknown-pragmas)
if(Kokkos_ENABLE_CUDA OR "CUDA" IN_LIST Kokkos_DEVICES)
  # GoogleTest's registration variables are unused by design; the wrapper names lane masks that host passes never use.
  target_compile_options(prekond_build_flags INTERFACE -Wno-unused-variable)
endif()
if(PREKOND_ARCH)
  target_compile_options(prekond_build_flags INTERFACE -march=${PREKOND_ARCH})
elseif(PREKOND_ENABLE_NATIVE)
  target_compile_options(prekond_build_flags INTERFACE -march=native)
endif()
if(PREKOND_ENABLE_SANITIZERS)
  target_compile_options(prekond_build_flags INTERFACE -fsanitize=address,undefined -fno-omit-frame-pointer -g)
  target_link_options(prekond_build_flags INTERFACE -fsanitize=address,undefined)
endif()

configure_file(${PROJECT_SOURCE_DIR}/include/prekond/core/version.hpp.in
               ${PROJECT_BINARY_DIR}/include/prekond/core/version.hpp @ONLY)

# prekond_add_layer(NAME SOURCES ... LAYERS ...): one folder of include/prekond is one layer is one target,
# prekond::NAME, which links only the layers below it.
function(prekond_add_layer name)
  cmake_parse_arguments(arg "" "" "SOURCES;LAYERS;LIBRARIES" ${ARGN})
  set(target prekond_${name})
  add_library(${target} ${arg_SOURCES})
  add_library(prekond::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(
    ${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
                     $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  list(TRANSFORM arg_LAYERS PREPEND prekond_)
  target_link_libraries(${target} PUBLIC Kokkos::kokkos ${arg_LAYERS})
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:prekond_build_flags> ${arg_LIBRARIES})
  install(TARGETS ${target} EXPORT prekond_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
                                                   ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# prekond_add_adapter(NAME SOURCES ... LIBRARIES ...): what joins the library to another package, as target
# prekond::NAME and as component NAME of the installed package.
function(prekond_add_adapter name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  set(target prekond_${name})
  if(arg_SOURCES)
    add_library(${target} ${arg_SOURCES})
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:prekond_build_flags>)
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(prekond::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_link_libraries(${target} ${scope} prekond ${arg_LIBRARIES})
  install(TARGETS ${target} EXPORT prekond_${name}_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
                                                           ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  set_property(GLOBAL APPEND PROPERTY PREKOND_ADAPTERS ${name})
endfunction()
