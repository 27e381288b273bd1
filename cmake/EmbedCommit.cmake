# Writes OUTPUT, a C++ file with the commit of SOURCE: cmake -DSOURCE=... -DOUTPUT=... -P EmbedCommit.cmake. The file is
# touched only if it changes, so a build without a new commit compiles nothing. Without git or a repository of its own
# the commit is an empty text.
cmake_minimum_required(VERSION 3.25)
set(commit "")
find_program(git git)
if(git AND EXISTS "${SOURCE}/.git")
  execute_process(COMMAND ${git} -C "${SOURCE}" describe --always --dirty --abbrev=12 --exclude=*
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    set(commit "")
  endif()
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT "#include \"engine/app/version.h\"

namespace tandem::app {
const char kCommit[] = \"@commit@\";
}  // namespace tandem::app
")
