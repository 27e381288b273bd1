# Writes the header with the commit that is built: cmake -DSOURCE=... -DHEADER=... -P write_commit.cmake. The file is
# touched only if it changes, so a build without a new commit compiles nothing.
cmake_minimum_required(VERSION 3.25)
set(commit "")
find_program(git git)
if(git)
  execute_process(COMMAND ${git} -C "${SOURCE}" describe --always --dirty --abbrev=12 --exclude=*
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    set(commit "")
  endif()
endif()
file(CONFIGURE OUTPUT "${HEADER}" CONTENT "inline constexpr const char* kCommit = \"@commit@\";\n" @ONLY)
