# What gets installed: both libraries, their headers, CMake and pkg-config files, the command; and CPack's packages.

include(CMakePackageConfigHelpers)

if(NOT ESPALIER_SHARED_LIBS)
  message(STATUS "Espalier: a static build has no install rules for its libraries")
  return()
endif()

# The headers of espalier::matmul are those of its floors; the full library adds the rest.
set(matmul_headers activation cpu dynamic executor export files grouped machine mask matmul sampled sparse status tensor types version)
file(GLOB public_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/espalier/*)
set(matmul_files ${public_headers})
set(full_files ${public_headers})
list(JOIN matmul_headers "|" matmul_names)
list(FILTER matmul_files INCLUDE REGEX "/(${matmul_names})\\.hpp$|/(espalier|dynamic)\\.h$")
list(REMOVE_ITEM full_files ${matmul_files})

install(
  TARGETS espalier_matmul_lib
  EXPORT espalier_matmul_targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT matmul NAMELINK_COMPONENT matmul_dev
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(
  TARGETS espalier
  EXPORT espalier_full_targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT full NAMELINK_COMPONENT full_dev
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${matmul_files} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/espalier COMPONENT matmul_dev)
install(FILES ${full_files} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/espalier COMPONENT full_dev)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/espalier)
install(EXPORT espalier_matmul_targets FILE espalier_matmul_targets.cmake NAMESPACE espalier:: DESTINATION ${config_dir}
        COMPONENT matmul_dev)
install(EXPORT espalier_full_targets FILE espalier_full_targets.cmake NAMESPACE espalier:: DESTINATION ${config_dir}
        COMPONENT full_dev)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/espalierConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/espalierConfig.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/espalierConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/espalierConfig.cmake ${PROJECT_BINARY_DIR}/espalierConfigVersion.cmake
        DESTINATION ${config_dir} COMPONENT matmul_dev)

# espalier_pkg_config(NAME LIBRARY DESCRIPTION COMPONENT)
function(espalier_pkg_config name library description component)
  set(pc_name ${name})
  set(pc_library ${library})
  set(pc_description ${description})
  # The prefix is found relative to the file, so that the tree can be moved.
  file(RELATIVE_PATH pc_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/espalier.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${component})
endfunction()
espalier_pkg_config(espalier-matmul espalier_matmul "Sparse matrix products" matmul_dev)
espalier_pkg_config(espalier espalier "${PROJECT_DESCRIPTION}" full_dev)

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}
        COMPONENT matmul)

set(CPACK_PACKAGE_NAME espalier)
set(CPACK_PACKAGE_VENDOR "Espalier")
set(CPACK_PACKAGE_CONTACT "Espalier maintainers <maintainers@espalier.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR "DEB;TGZ")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/src)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_COMPONENTS_ALL matmul matmul_dev full full_dev tools)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEBIAN_MATMUL_PACKAGE_NAME libespalier-matmul0.1)
set(CPACK_DEBIAN_MATMUL_DEV_PACKAGE_NAME libespalier-matmul-dev)
set(CPACK_DEBIAN_MATMUL_DEV_PACKAGE_DEPENDS "libexpected-dev")
set(CPACK_DEBIAN_FULL_PACKAGE_NAME libespalier0.1)
set(CPACK_DEBIAN_FULL_DEV_PACKAGE_NAME libespalier-dev)
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME espalier)
set(CPACK_COMPONENT_MATMUL_DEV_DEPENDS matmul)
set(CPACK_COMPONENT_FULL_DEV_DEPENDS full matmul_dev)
set(CPACK_COMPONENT_TOOLS_DEPENDS full)
# The tarball is one relocatable tree: the command finds its library beside it.
set(CPACK_ARCHIVE_COMPONENT_INSTALL OFF)
include(CPack)
