# `cmake --install` installs the program, the headers of include/tandem, the libraries, and a CMake package. Then
#   find_package(tandem REQUIRED)
#   target_link_libraries(mine PRIVATE tandem::engine)
# allow `#include <tandem/engine.h>`. No other header is installed, so that all others may change.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(tandem_libraries GLOBAL PROPERTY TANDEM_LIBRARIES)
add_library(tandem_engine INTERFACE)
target_link_libraries(tandem_engine INTERFACE tandem_run tandem_chat_template)
set_target_properties(tandem_engine PROPERTIES EXPORT_NAME engine)

install(TARGETS ${tandem_libraries} tandem_engine EXPORT tandemTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}/tandem" COMPONENT development
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/tandem" COMPONENT development)
if(TARGET tandem)
  install(TARGETS tandem RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT program)
  # Tries drivers for the program and the libraries. It is no command of users.
  install(TARGETS tandem_prove RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/tandem" COMPONENT program)
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/tandem" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tandem")
install(EXPORT tandemTargets NAMESPACE tandem:: DESTINATION "${package_dir}" COMPONENT development)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/tandemConfig.cmake.in" "${PROJECT_BINARY_DIR}/tandemConfig.cmake"
  INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tandemConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/tandemConfig.cmake" "${PROJECT_BINARY_DIR}/tandemConfigVersion.cmake" DESTINATION "${package_dir}"
  COMPONENT development)
