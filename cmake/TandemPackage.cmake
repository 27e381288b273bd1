# `cpack` in a build folder makes the Debian packages tandem, libtandem0, libtandem-dev and python3-tandem, one of each
# component (docs/packages.md). `./dev package` builds first, and gives all files one date, so that two runs make the
# same bytes.
find_program(TANDEM_SYSTEM_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
set(parts program library development)
if(TARGET tandem_python)
  list(APPEND parts python3)
  set(package "lib/python3/dist-packages/tandem")
  install(TARGETS tandem_python LIBRARY DESTINATION "${package}" COMPONENT python3 EXCLUDE_FROM_ALL)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/python/tandem/" DESTINATION "${package}" COMPONENT python3 EXCLUDE_FROM_ALL
    PATTERN __pycache__ EXCLUDE)
endif()
# Man pages, completion, licences and the like are made when a package is (packaging/documents.py).
foreach(part IN LISTS parts)
  set(made "${PROJECT_BINARY_DIR}/packaging/${part}")
  install(CODE "execute_process(COMMAND \"${TANDEM_SYSTEM_PYTHON}\" -B \"${PROJECT_SOURCE_DIR}/packaging/documents.py\"
      ${part} \"${PROJECT_SOURCE_DIR}\" \"${PROJECT_BINARY_DIR}\" \"${made}\" COMMAND_ERROR_IS_FATAL ANY)"
    COMPONENT ${part} EXCLUDE_FROM_ALL)
  install(DIRECTORY "${made}/usr/" DESTINATION "." COMPONENT ${part} EXCLUDE_FROM_ALL)
endforeach()
install(DIRECTORY "${PROJECT_BINARY_DIR}/packaging/program/etc/" DESTINATION /etc COMPONENT program EXCLUDE_FROM_ALL)

# What packages are made of, built without tests and bench programs.
add_custom_target(tandem_packaged)
add_dependencies(tandem_packaged tandem tandem_prove tandem_c ${tandem_libraries})
if(TARGET tandem_python)
  add_dependencies(tandem_packaged tandem_python)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tandem)
set(CPACK_PACKAGE_CONTACT "The Tandem authors <authors@tandem.invalid>")  # ./dev package gives DEBFULLNAME and DEBEMAIL
set(CPACK_PACKAGE_VENDOR "The Tandem authors")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_SET_DESTDIR ON)  # for /etc
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL ${parts})
set(CPACK_COMPONENTS_GROUPING IGNORE)  # each component is a package
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(TANDEM_PACKAGE_RELEASE 1 CACHE STRING "the release of the Debian packages, behind the version")
set(CPACK_DEBIAN_PACKAGE_RELEASE "${TANDEM_PACKAGE_RELEASE}")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Packages of one release belong together.
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_COMPONENT_LIBRARY_DEPENDS program)
set(CPACK_COMPONENT_DEVELOPMENT_DEPENDS program library)
set(CPACK_COMPONENT_PYTHON3_DEPENDS program)
set(control "${PROJECT_SOURCE_DIR}/packaging/control")
set(drivers "pocl-opencl-icd | opencl-icd")
set(cards "mesa-vulkan-drivers, mesa-opencl-icd, intel-opencl-icd, nvidia-opencl-icd")

# The drivers of GPUs are plugins, which no file is linked to. So they are said here.
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME tandem)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "passwd")  # its postinst calls groupadd
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "${drivers}")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "${cards}")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_EXTRA
  "${control}/program/conffiles;${control}/program/postinst;${control}/program/prerm;${control}/program/postrm")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "language models on a GPU and an NPU that share one memory
Tandem runs large language models with OpenCL and Vulkan drivers, and divides
each product between processors. This package has the program, its server
with a systemd unit, and the helper that tries drivers.
.
It has no model, and fetches none.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libtandem0)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
# What packages that link to libtandem depend on.
set(shlibs "${PROJECT_BINARY_DIR}/packaging/shlibs")
file(CONFIGURE OUTPUT "${shlibs}" CONTENT "libtandem 0 libtandem0 (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${control}/library/triggers;${shlibs}")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "language models on shared memory - library for C
The library of <tandem/tandem.h>: models, texts, logits, sequences, plans and
timelines for programs in C and in languages that call C.
.
The program's package has the helper that tries drivers for it.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libtandem-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
string(CONCAT CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libspdlog-dev, libeigen3-dev, "
  "nlohmann-json3-dev, libcli11-dev, libpcre2-dev, libhwy-dev, opencl-headers, ocl-icd-opencl-dev, libvulkan-dev, pkg-config")
if(URING_FOUND)
  string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ", liburing-dev")
endif()
if(EDIT_FOUND)
  string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ", libedit-dev")
endif()
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "language models on shared memory - headers and libraries
The header for C with a pkg-config file, the headers for C++ with static
libraries and a CMake package (find_package(tandem)), and examples.")

if(TARGET tandem_python)
  set(CPACK_DEBIAN_PYTHON3_PACKAGE_NAME python3-tandem)
  set(CPACK_DEBIAN_PYTHON3_PACKAGE_SECTION python)
  execute_process(COMMAND "${TANDEM_PYTHON_EXECUTABLE}" -c "import sys; print(sys.version_info.minor)"
    OUTPUT_VARIABLE minor OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  math(EXPR next "${minor} + 1")
  set(CPACK_DEBIAN_PYTHON3_PACKAGE_DEPENDS
    "python3 (>= 3.${minor}~), python3 (<< 3.${next}~), python3-numpy")
  set(CPACK_DEBIAN_PYTHON3_PACKAGE_CONTROL_EXTRA "${control}/python3/postinst;${control}/python3/prerm")
  set(CPACK_COMPONENT_PYTHON3_DESCRIPTION "language models on shared memory - Python package
The package tandem for Python: models, texts, logits as arrays of numpy,
sequences, plans, timelines and an emulated NPU.")
endif()
include(CPack)
