#include "engine/device/proof/driver_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/device/proof/broken_drivers.h"

namespace tandem::proof {
namespace {

using ::tandem::testing::BrokenDrivers;
using ::tandem::testing::Variables;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(DriverFiles, opencl_drivers_are_the_manifests_of_the_folder_that_the_loader_is_given) {
  const BrokenDrivers files;
  Variables variables;
  variables.set("OCL_ICD_VENDORS", files.path("vendors"));
  variables.set("OCL_ICD_FILENAMES", "");
  EXPECT_THAT(manifests(Api::opencl), IsEmpty());
  files.write("vendors/b.icd", "libB.so\n");
  files.write("vendors/a.icd", "libA.so\n");
  files.write("vendors/notes.txt", "");
  EXPECT_THAT(manifests(Api::opencl), ElementsAre(files.path("vendors/a.icd"), files.path("vendors/b.icd")));
  variables.set("OCL_ICD_VENDORS", files.path("vendors/b.icd"));
  EXPECT_THAT(manifests(Api::opencl), ElementsAre(files.path("vendors/b.icd")));
}

TEST(DriverFiles, opencl_drivers_that_a_variable_names_as_libraries_come_first) {
  const BrokenDrivers files;
  Variables variables;
  files.write("vendors/a.icd", "libA.so\n");
  variables.set("OCL_ICD_VENDORS", files.path("vendors"));
  variables.set("OCL_ICD_FILENAMES", "libB.so:/somewhere/libC.so");
  EXPECT_THAT(manifests(Api::opencl), ElementsAre("libB.so", "/somewhere/libC.so", files.path("vendors/a.icd")));
}

TEST(DriverFiles, vulkan_drivers_are_named_by_a_variable_or_lie_in_the_usual_folders) {
  const BrokenDrivers files;
  Variables variables;
  for (const char* name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES"}) variables.set(name, "");
  for (const char* name : {"XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_HOME"}) variables.set(name, files.path(""));
  variables.set("XDG_DATA_DIRS", files.path("data"));
  std::filesystem::create_directories(files.path("data/vulkan/icd.d"));
  files.write("data/vulkan/icd.d/some.json", "{}");
  EXPECT_THAT(manifests(Api::vulkan), ::testing::Contains(files.path("data/vulkan/icd.d/some.json")));
  variables.set("VK_ICD_FILENAMES", "/a.json:/b.json");
  EXPECT_THAT(manifests(Api::vulkan), ElementsAre("/a.json", "/b.json"));
  variables.set("VK_DRIVER_FILES", "/c.json");
  EXPECT_THAT(manifests(Api::vulkan), ElementsAre("/c.json"));
}

TEST(DriverFiles, fingerprint_changes_with_manifest_library_and_variables_and_with_nothing_else) {
  const BrokenDrivers files;
  Variables variables;
  files.write("library.so", "one");
  const std::string manifest = files.write("vendors/a.icd", files.path("library.so") + "\n");
  const auto now = [&] { return fingerprint(Api::opencl, {manifest}); };
  const std::string first = now();
  EXPECT_EQ(now(), first);
  variables.set("POCL_MAX_PTHREAD_COUNT", "7");
  variables.set("TANDEM_SOMETHING", "else");
  variables.set("VK_DRIVER_FILES", "/somewhere.json");
  EXPECT_EQ(now(), first) << "these change nothing of what an OpenCL driver can do";
  variables.set("RUSTICL_ENABLE", "some_gpu");
  const std::string enabled = now();
  EXPECT_NE(enabled, first);
  files.write("library.so", "another");
  const std::string updated = now();
  EXPECT_NE(updated, enabled);
  files.write("vendors/a.icd", files.path("other.so") + "\n");
  EXPECT_NE(now(), updated);
}

// A home folder may be shared with a container that has no /sys, where PoCL ends the process.
TEST(DriverFiles, fingerprint_changes_with_the_parts_of_the_system_that_a_container_lacks) {
  const testing::ScratchFolder root;
  const auto now = [&] { return fingerprint(Api::opencl, {}, root.file("")); };
  const std::string nothing = now();
  std::filesystem::create_directories(root.file("sys/devices/system/cpu"));
  const std::string with_sys = now();
  EXPECT_NE(with_sys, nothing);
  std::filesystem::create_directories(root.file("proc"));
  std::ofstream(root.file("proc/meminfo")) << "MemTotal: 1 kB\n";
  EXPECT_NE(now(), with_sys);
  EXPECT_EQ(now(), now());
}

// The loader passes over what it cannot read. Without it, one folder of that name kept all drivers from being tried.
TEST(DriverFiles, list_for_the_loader_leaves_out_what_is_no_readable_manifest) {
  const BrokenDrivers files;
  std::filesystem::create_directories(files.path("vendors/folder.icd"));
  std::filesystem::create_symlink("nowhere", files.path("vendors/link.icd"));
  const std::vector<std::string> all = {files.path("vendors/folder.icd"), files.path("vendors/link.icd"),
                                        files.write("vendors/good.icd", "libgood.so\n"), "liblisted.so"};
  only(Api::opencl, all, files.path("list"));
  std::vector<std::string> contents;
  for (const std::string& one : {files.path("list/1002.icd"), files.path("list/1003.icd")}) {
    std::ifstream in(one);
    std::string line;
    std::getline(in, line);
    contents.push_back(line);
  }
  EXPECT_THAT(contents, ElementsAre("libgood.so", "liblisted.so"));
  EXPECT_FALSE(std::filesystem::exists(files.path("list/1000.icd")));
  EXPECT_FALSE(std::filesystem::exists(files.path("list/1001.icd")));
}

// A package that was cut or edited by hand must not end commands that need none of its drivers.
TEST(DriverFiles, fingerprint_takes_a_vulkan_manifest_whatever_its_json_says) {
  const BrokenDrivers files;
  for (const char* path : {"5", "null", "[\"lib.so\"]", "{\"library_path\": 1}", "true", "\"\""})
    for (const std::string& json : {R"({"ICD": {"library_path": )" + std::string(path) + "}}",
                                    R"({"ICD": )" + std::string(path) + "}", std::string(path)})
      EXPECT_FALSE(fingerprint(Api::vulkan, {files.write("vendors/a.json", json)}).empty()) << json;
  const size_t levels = 500'000;
  const std::string deep = R"({"ICD": )" + std::string(levels, '[') + std::string(levels, ']') + "}";
  EXPECT_FALSE(fingerprint(Api::vulkan, {files.write("vendors/a.json", deep)}).empty());
}

TEST(DriverFiles, fingerprint_of_an_interface_is_the_same_whatever_drivers_the_other_one_has) {
  Variables variables;
  const std::string first = fingerprint(Api::vulkan, {});
  for (const char* name : {"OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "OPENCL_VENDOR_PATH"}) {
    const std::string opencl = fingerprint(Api::opencl, {});
    variables.set(name, "/somewhere");
    EXPECT_EQ(fingerprint(Api::vulkan, {}), first) << name;
    EXPECT_NE(fingerprint(Api::opencl, {}), opencl) << name;
  }
}

TEST(DriverFiles, fingerprint_follows_a_library_that_a_variable_names) {
  const BrokenDrivers files;
  const std::string library = files.write("library.so", "one");
  const std::string first = fingerprint(Api::opencl, {library});
  files.write("library.so", "another");
  EXPECT_NE(fingerprint(Api::opencl, {library}), first);
}

TEST(DriverFiles, fingerprint_is_blind_to_what_lies_beside_a_library_that_is_not_there) {
  const BrokenDrivers files;
  const std::string absent = files.path("absent.so"), first = fingerprint(Api::opencl, {absent});
  files.write("beside.so", "one");
  EXPECT_EQ(fingerprint(Api::opencl, {absent}), first);
  files.write("absent.so", "here now");
  EXPECT_NE(fingerprint(Api::opencl, {absent}), first);
}

TEST(DriverFiles, fingerprint_follows_a_vulkan_library_beside_its_manifest) {
  const BrokenDrivers files;
  files.write("driver.so", "one");
  const std::string manifest = files.write("a.json", R"({"ICD": {"library_path": "./driver.so"}})");
  const std::string first = fingerprint(Api::vulkan, {manifest});
  files.write("driver.so", "another");
  EXPECT_NE(fingerprint(Api::vulkan, {manifest}), first);
  files.write("a.json", "this is no JSON");
  EXPECT_NE(fingerprint(Api::vulkan, {manifest}), "") << "a damaged manifest is the loader's business";
}

TEST(DriverFiles, loaders_are_shown_the_drivers_that_are_left_in_their_order) {
  const BrokenDrivers files;
  files.write("z.icd", "libZ.so\n");
  files.write("a.icd", "libA.so\n");
  Variables variables;
  variables.set("OCL_ICD_FILENAMES", "libB.so:libC.so");
  const std::vector<std::string> shown = {files.path("z.icd"), "libC.so", files.path("a.icd")};
  for (const auto& [name, value] : only(Api::opencl, shown, files.path("left"))) variables.set(name, value);
  std::vector<std::string> libraries;
  for (const std::string& left : manifests(Api::opencl)) std::ifstream(left) >> libraries.emplace_back();
  EXPECT_THAT(libraries, ElementsAre("libZ.so", "libC.so", "libA.so"));
  for (const auto& [name, value] : only(Api::vulkan, {}, "")) variables.set(name, value);
  EXPECT_THAT(manifests(Api::vulkan), ElementsAre("/nonexistent"));
}

class Nodes : public ::testing::Test {
 protected:
  void add(const std::string& path, const std::string& text = "") const {
    const std::filesystem::path whole = root_.file(path);
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }
  // Adds the render node of a GPU at that place on the bus.
  void add_render_node(const std::string& pci, const std::string& vendor) const {
    add("dev/dri/renderD128");
    add("devices/" + pci + "/vendor", vendor + "\n");
    std::filesystem::create_directories(root_.file("sys/class/drm/renderD128"));
    std::filesystem::create_directory_symlink("../../../../devices/" + pci,
                                              root_.file("sys/class/drm/renderD128/device"));
  }
  bool may_have_card() const { return proof::may_have_card(root_.file("")); }
  const ::tandem::testing::ScratchFolder root_;
};

TEST_F(Nodes, of_no_gpu_are_no_card) {
  EXPECT_FALSE(may_have_card());
  add("dev/null");
  add("dev/nvram");
  add("dev/nvidia-caps");
  add("dev/dri/card0");
  EXPECT_FALSE(may_have_card());
}

TEST_F(Nodes, of_nvidias_driver_may_be_a_card) {
  add("dev/nvidia0");
  EXPECT_TRUE(may_have_card());
}

TEST_F(Nodes, of_a_card_of_amd_or_nvidia_or_behind_intels_own_bus_may_be_one) {
  add_render_node("0000:03:00.0", "0x1002");
  EXPECT_TRUE(may_have_card());
}

TEST_F(Nodes, of_an_intel_gpu_are_told_by_its_bus) {
  add_render_node("0000:03:00.0", "0x8086");
  EXPECT_TRUE(may_have_card());
}

TEST_F(Nodes, of_a_gpu_within_an_intel_processor_or_of_a_virtual_screen_are_no_card) {
  add_render_node("0000:00:02.0", "0x8086");
  EXPECT_FALSE(may_have_card());
  add("devices/0000:00:02.0/vendor", "0x1af4\n");
  EXPECT_FALSE(may_have_card());
}

}  // namespace
}  // namespace tandem::proof
