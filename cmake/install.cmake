# Installed tree, relocatable as a whole. Components: runtime (library, worker, OpenCL module) and
# development (header, CMake package, pkg-config).

include(CMakePackageConfigHelpers)

install(TARGETS convoy EXPORT convoy-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/convoy
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development FILES_MATCHING PATTERN "*.h")

# Beside the library: there it looks for them.
foreach(target convoy-worker convoy-ocl)
  if(TARGET ${target})
    install(TARGETS ${target}
      RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/${CONVOY_LIBEXEC} COMPONENT runtime
      LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/${CONVOY_LIBEXEC} COMPONENT runtime)
  endif()
endforeach()

if(TARGET convoy_main) # tools/ installs the tool; from bin/ the library is found like this
  file(RELATIVE_PATH to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(convoy_main PROPERTIES INSTALL_RPATH "$ORIGIN/${to_lib}")
endif()

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)

# Tuning files of measured devices; also in the build tree, beside the library as when installed.
file(GLOB tuning_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/tune/*.txt)
foreach(file IN LISTS tuning_files)
  get_filename_component(name ${file} NAME)
  configure_file(${file} ${PROJECT_BINARY_DIR}/share/convoy/tune/${name} COPYONLY)
  install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/convoy/tune COMPONENT runtime)
endforeach()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/convoy)
install(EXPORT convoy-targets NAMESPACE convoy:: DESTINATION ${package_dir} COMPONENT development)
configure_package_config_file(cmake/convoy-config.cmake.in
  ${PROJECT_BINARY_DIR}/convoy-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/convoy-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/convoy-config.cmake
  ${PROJECT_BINARY_DIR}/convoy-config-version.cmake
  DESTINATION ${package_dir} COMPONENT development)

# pkg-config knows the folder of its own file: the way from there to the prefix is what is written.
file(RELATIVE_PATH pc_to_prefix
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX}/.)
configure_file(cmake/convoy.pc.in ${PROJECT_BINARY_DIR}/convoy.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/convoy.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

if(SKBUILD)
  include(cmake/wheel.cmake)
endif()
