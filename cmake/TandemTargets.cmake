# Compile options of all targets, and the two functions that turn a folder into a target.

add_library(tandem_options INTERFACE)
target_compile_options(tandem_options INTERFACE
  -Wall -Wextra
  -ffp-contract=off)  # the numeric contract writes every fma explicitly; the compiler may add none
# Warnings are errors with the compilers that build the tests: those of Debian 12. Other compilers warn of other things,
# or without cause (g++ 13 of an uninitialised std::map). Such a warning must not end a user's build.
set(known_compiler OFF)
if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.") OR
   (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^14\\."))
  set(known_compiler ON)
endif()
option(TANDEM_WARNINGS_ARE_ERRORS "A warning ends the build" ${known_compiler})
if(TANDEM_WARNINGS_ARE_ERRORS)
  target_compile_options(tandem_options INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Debian's clang 14 reads gcc 12's headers, some of which trigger this warning.
  target_compile_options(tandem_options INTERFACE -Wno-unknown-warning-option)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 wrongly reports overlapping copies in `"literal" + std::string` at -O2 and above (GCC bug 105651).
  target_compile_options(tandem_options INTERFACE -Wno-restrict)
endif()
if(TANDEM_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # With sanitizers g++ 12 wrongly reports uninitialised values in its own <regex>, and copies out of bounds in strings.
  target_compile_options(tandem_options INTERFACE -Wno-maybe-uninitialized -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()
if(TANDEM_SANITIZE)
  target_compile_options(tandem_options INTERFACE -fsanitize=${TANDEM_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(tandem_options INTERFACE -fsanitize=${TANDEM_SANITIZE})
endif()

# Precompiles the standard headers that most files include, where libraries are compiled with -O1. At -O3 g++ 12 would
# then wrongly report copies out of bounds in strings. A file still includes what it uses; the debug build checks it,
# which compiles each file alone.
if(TANDEM_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(TANDEM_HEADERS_READ_ONCE ON)
  file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/no_library.cpp" CONTENT "")
  add_library(tandem_library_headers STATIC EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/no_library.cpp")
  target_link_libraries(tandem_library_headers PRIVATE tandem_options)
  target_precompile_headers(tandem_library_headers PRIVATE
    <algorithm> <array> <atomic> <chrono> <cmath> <cstdint> <cstring> <filesystem> <fstream> <functional> <map> <memory> <mutex> <numeric>
    <optional> <set> <span> <string> <thread> <utility> <variant> <vector>)
endif()

# tandem_library(NAME SOURCES ... LINK ...): one static library per folder; includes start at the root of the tree.
# FILE_BY_FILE keeps its sources out of CMAKE_UNITY_BUILD. It is for timed loops, whose code must not change with
# their neighbours.
function(tandem_library name)
  cmake_parse_arguments(arg "FILE_BY_FILE" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR};${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:include>")
  target_link_libraries(${name} PUBLIC ${arg_LINK} PRIVATE "$<BUILD_INTERFACE:tandem_options>" ${arg_PRIVATE_LINK})
  set_property(GLOBAL APPEND PROPERTY TANDEM_LIBRARIES ${name})
  if(arg_FILE_BY_FILE)
    set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  endif()
  if(TANDEM_HEADERS_READ_ONCE)
    target_precompile_headers(${name} REUSE_FROM tandem_library_headers)
  endif()
endfunction()

# For code that does not run long enough for -O3 to pay: tests and the program's commands. They compile in two thirds of
# the time.
set(TANDEM_COMPILES_FAST "$<$<CONFIG:Release>:-O1>")

# tandem_test(NAME SOURCES ... LINK ... LABELS ... LOCK name TIMEOUT seconds): one GoogleTest program. Every TEST
# becomes a ctest case called FOLDER/Topic.says_what_holds, so that `./dev test engine/model` runs a folder. The target
# tests_in_FOLDER (engine_model) builds the programs of a folder and its sub-folders. Tests labelled gpu, opencl or npu
# use cores as devices, so they run one at a time. Tests with the same LOCK name also run one at a time.
function(tandem_test name)
  cmake_parse_arguments(arg "" "TIMEOUT;LOCK" "SOURCES;LINK;LABELS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/include" "${PROJECT_BINARY_DIR}")
  target_link_libraries(${name} PRIVATE ${arg_LINK} tandem_options tandem_test_support GTest::gmock GTest::gtest_main)
  target_compile_options(${name} PRIVATE ${TANDEM_COMPILES_FAST})
  target_precompile_headers(${name} REUSE_FROM tandem_test_headers)
  # Programs that open a device need tandem_prove, which tries drivers. Others build without the device libraries, in
  # minutes under a sanitizer.
  if(NOT arg_LINK MATCHES "^(tandem_(sync|packed|tensor|model|tokenizer|chat|constraint|npu_emu)|fuzz_model)(;(nlohmann_json::nlohmann_json|Threads::Threads))*$")
    add_dependencies(${name} tandem_prove)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)  # seconds; a guard against hangs, since shared machines are slow at times
  endif()
  set(properties TIMEOUT ${arg_TIMEOUT})
  if(TANDEM_SANITIZE)
    math(EXPR slow "3 * ${arg_TIMEOUT}")
    set(properties TIMEOUT ${slow})
    if(TANDEM_SANITIZE MATCHES "thread")
      list(APPEND properties ENVIRONMENT "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/tsan.supp")
    else()
      list(APPEND properties ENVIRONMENT "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/lsan.supp")
      # Without this option g++ 12's LeakSanitizer assumes a wrong place for the thread-local variables of a loaded
      # library, and crashes when a program ends. PoCL's compiler gives threads signal stacks of its own, which
      # AddressSanitizer would unmap when a thread ends, unless use_sigaltstack is 0.
      list(APPEND properties ENVIRONMENT_MODIFICATION "ASAN_OPTIONS=path_list_append:intercept_tls_get_addr=0:use_sigaltstack=0")
      target_sources(${name} PRIVATE "${PROJECT_SOURCE_DIR}/cmake/keep_loaded.cpp")
    endif()
  endif()
  set(lock ${arg_LOCK})
  if(NOT lock AND arg_LABELS MATCHES "gpu|opencl|npu")
    set(lock devices)
  endif()
  if(lock)  # started first: tests that run one at a time would else remain at the end, with a core idle
    list(APPEND properties RESOURCE_LOCK ${lock} COST 1000)
  endif()
  if(arg_LABELS)
    list(GET arg_LABELS 0 label)  # gtest_discover_tests breaks lists; the folder in the name says the rest
    list(APPEND properties LABELS ${label})
  endif()
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}/tests" "${CMAKE_CURRENT_SOURCE_DIR}")
  gtest_discover_tests(${name} TEST_PREFIX "${folder}/" DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
  while(folder)
    string(REPLACE "/" "_" all "tests_in_${folder}")
    if(NOT TARGET ${all})
      add_custom_target(${all})
    endif()
    add_dependencies(${all} ${name})
    get_filename_component(folder "${folder}" DIRECTORY)
  endwhile()
endfunction()
