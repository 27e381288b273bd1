# Writes OUTPUT, a C++ file with one table of the texts of all processor profiles in FILES (separated by '|'). Run with
# cmake -P.
string(REPLACE "|" ";" files "${FILES}")
set(table "#include \"engine/plan/model_clock/profiles/embedded.h\"\n\nnamespace tandem {\nnamespace {\nconstexpr EmbeddedProfile kProfiles[] = {\n")
foreach(file IN LISTS files)
  get_filename_component(stem "${file}" NAME_WLE)
  file(READ "${file}" text)
  string(APPEND table "{\"${stem}\", R\"tandem_json(${text})tandem_json\"},\n")
endforeach()
string(APPEND table "};\n}  // namespace\nstd::span<const EmbeddedProfile> embedded_profiles() { return kProfiles; }\n}  // namespace tandem\n")
file(WRITE "${OUTPUT}" "${table}")
