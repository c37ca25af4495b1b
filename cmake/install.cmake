# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include(CMakePackageConfigHelpers)
set(_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Prekond)

install(DIRECTORY include/prekond DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(FILES ${PROJECT_BINARY_DIR}/include/prekond/core/version.hpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/prekond/core)
install(EXPORT prekond_targets NAMESPACE prekond:: DESTINATION ${_config_dir})
if(PREKOND_HAS_PETSC)
  install(FILES include/prekond_petsc.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(FILES cmake/PrekondFindPetsc.cmake DESTINATION ${_config_dir})
endif()
get_property(PREKOND_ADAPTERS GLOBAL PROPERTY PREKOND_ADAPTERS)
foreach(_adapter IN LISTS PREKOND_ADAPTERS)
  install(EXPORT prekond_${_adapter}_targets NAMESPACE prekond:: DESTINATION ${_config_dir})
endforeach()
configure_package_config_file(cmake/PrekondConfig.cmake.in ${PROJECT_BINARY_DIR}/PrekondConfig.cmake
                              INSTALL_DESTINATION ${_config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/PrekondConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/PrekondConfig.cmake ${PROJECT_BINARY_DIR}/PrekondConfigVersion.cmake
        DESTINATION ${_config_dir})
