# Writes OUTPUT, a C++ file with the server's page as one text. FILES (separated by '|') are the document, its style sheet
# and its scripts, in this order. They take the places of "@STYLE@" and "@SCRIPT@". Run with cmake -P.
string(REPLACE "|" ";" files "${FILES}")
list(POP_FRONT files document style)
file(READ "${document}" page)
file(READ "${style}" style_text)
set(script_text "")
foreach(file IN LISTS files)
  file(READ "${file}" text)
  string(APPEND script_text "${text}")
endforeach()
string(REPLACE "@STYLE@" "${style_text}" page "${page}")
string(REPLACE "@SCRIPT@" "${script_text}" page "${page}")
file(WRITE "${OUTPUT}" "#include \"engine/serve/page/embedded.h\"

namespace tandem::serve {
const char kEmbeddedPage[] = R\"tandem_page(${page})tandem_page\";
}  // namespace tandem::serve
")
