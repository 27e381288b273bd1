// Writing an output keeps its links, modes, owners, names, FIFOs, devices and descriptors.
#include "sync/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

#include "sync/error.h"
#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

class Output : public ::testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_.file(name); }
  std::string made(const std::string& name, const std::string& content, mode_t mode = 0644) const {
    std::ofstream(file(name)) << content;
    EXPECT_EQ(chmod(file(name).c_str(), mode), 0);
    return file(name);
  }
  static std::string content(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static mode_t mode(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0);
    return status.st_mode & 07777;
  }
  static ino_t inode(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0);
    return status.st_ino;
  }
  ptrdiff_t files() const { return std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator{}); }

  const testing::ScratchFolder folder_;
};

TEST_F(Output, replaces_a_file_when_it_is_whole_and_keeps_its_mode) {
  const std::string path = made("kept", "before", 0600);
  {
    OutputFile abandoned(path);
    abandoned.write(std::as_bytes(std::span("half", 4)));
    EXPECT_EQ(content(path), "before");
  }
  EXPECT_EQ(content(path), "before");
  const ino_t before = inode(path);
  write_output(path, "after");
  EXPECT_EQ(content(path), "after");
  EXPECT_EQ(mode(path), 0600u);
  EXPECT_NE(inode(path), before) << "renamed, so that a reader has one or the other";
  const mode_t mask = umask(027);
  write_output(file("new"), "x");
  umask(mask);
  EXPECT_EQ(mode(file("new")), 0640u);
  EXPECT_EQ(files(), 2) << "nothing beside them";
}

TEST_F(Output, names_the_temporaries_of_a_path) {
  const std::string path = made("kept", "before");
  fs::create_symlink("kept", file("link"));
  EXPECT_TRUE(temporaries_of(path).empty());
  {
    OutputFile begun(path);
    ASSERT_EQ(temporaries_of(path).size(), 1u);
    EXPECT_EQ(temporaries_of(file("link")), temporaries_of(path));
    EXPECT_TRUE(temporaries_of(file("other")).empty());
  }
  made("kept.part", "");
  made("kept.part1x", "");
  EXPECT_TRUE(temporaries_of(path).empty());
  made("kept.part12-3", "");
  EXPECT_EQ(temporaries_of(path), std::vector{file("kept.part12-3")});
  EXPECT_TRUE(temporaries_of("/nowhere/file").empty());
}

TEST_F(Output, keeps_the_owner_where_the_system_allows_it) {
  if (geteuid() != 0) GTEST_SKIP() << "skipped: only root may give a file away";
  const std::string path = made("theirs", "before", 0640);
  ASSERT_EQ(chown(path.c_str(), 1234, 2345), 0);
  write_output(path, "after");
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 1234u);
  EXPECT_EQ(status.st_gid, 2345u);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
  EXPECT_EQ(content(path), "after");
}

TEST_F(Output, follows_links_to_the_end) {
  fs::create_directory(file("folder"));
  made("folder/target", "before", 0600);
  fs::create_symlink("folder/target", file("link"));
  fs::create_symlink("link", file("link_to_link"));
  write_output(file("link_to_link"), "after");
  EXPECT_TRUE(fs::is_symlink(file("link")));
  EXPECT_TRUE(fs::is_symlink(file("link_to_link")));
  EXPECT_EQ(content(file("folder/target")), "after");
  EXPECT_EQ(mode(file("folder/target")), 0600u);

  fs::create_symlink("folder/new", file("dangling"));
  write_output(file("dangling"), "made");
  EXPECT_TRUE(fs::is_symlink(file("dangling")));
  EXPECT_EQ(content(file("folder/new")), "made");

  fs::create_symlink("circle", file("circle"));
  EXPECT_THROW(write_output(file("circle"), "x"), Error);
}

TEST_F(Output, writes_into_a_file_that_has_other_names) {
  const std::string path = made("one", "long before");
  fs::create_hard_link(path, file("other"));
  { OutputFile abandoned(path); }
  EXPECT_EQ(content(file("other")), "long before");
  write_output(path, "after");
  EXPECT_EQ(content(file("other")), "after");
  EXPECT_EQ(fs::hard_link_count(path), 2u);
  EXPECT_EQ(files(), 2);
}

TEST_F(Output, writes_a_fifo_in_place_and_waits_for_its_reader) {
  const std::string path = file("fifo");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const std::string large(300'000, 'x');
  std::string read;
  std::optional<std::thread> reader;
  write_output(path, large, [&](double) {  // no process reads yet
    if (!reader) reader.emplace([&] { read = content(path); });
  });
  ASSERT_TRUE(reader.has_value());
  reader->join();
  EXPECT_EQ(read, large);
  EXPECT_TRUE(fs::is_fifo(path));

  struct Enough {};
  EXPECT_THROW(write_output(path, "x", [](double) { throw Enough(); }), Enough) << "a wait may be ended";
}

TEST_F(Output, says_that_a_reader_has_gone) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  try {
    write_output("/dev/fd/" + std::to_string(ends[1]), "x");
    ADD_FAILURE() << "nobody reads";
  } catch (const Error& error) {
    EXPECT_NE(error.failure().find("Broken pipe"), std::string::npos) << error.what();
  }
  close(ends[1]);
}

TEST_F(Output, writes_to_descriptors_where_they_stand) {
  const std::string path = made("log", "");
  const int log = open(path.c_str(), O_WRONLY | O_APPEND);
  ASSERT_GE(log, 0);
  const std::string name = "/dev/fd/" + std::to_string(log);
  EXPECT_EQ(write(log, "first ", 6), 6);
  write_output(name, "second ");
  fs::create_symlink(name, file("link"));
  write_output(file("link"), "third");
  EXPECT_EQ(content(path), "first second third");
  EXPECT_TRUE(fs::is_symlink(file("link")));
  close(log);
  EXPECT_THROW(write_output(name, "x"), Error) << "no such descriptor";

  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  write_output("/proc/self/fd/" + std::to_string(ends[0]), "told");
  char told[4];
  EXPECT_EQ(read(ends[1], told, 4), 4);
  EXPECT_EQ(std::string(told, 4), "told");
  close(ends[0]);
  close(ends[1]);
}

TEST_F(Output, writes_to_devices_and_leaves_them_there) {
  const std::string null = file("null"), full = file("full");  // nodes of the test's own
  if (mknod(null.c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0 ||
      mknod(full.c_str(), S_IFCHR | 0666, makedev(1, 7)) != 0)
    GTEST_SKIP() << "skipped: this user may make no device nodes";
  if (const int opened = open(null.c_str(), O_WRONLY); opened < 0)
    GTEST_SKIP() << "skipped: devices cannot be used in this folder";
  else
    close(opened);
  write_output(null, "gone");
  EXPECT_TRUE(fs::is_character_file(null));
  try {
    write_output(full, "x");
    ADD_FAILURE() << "the device is full";
  } catch (const Error& error) {
    EXPECT_EQ(error.object(), full);
    EXPECT_NE(error.failure().find("No space left"), std::string::npos);
  }
  EXPECT_TRUE(fs::is_character_file(full));
  EXPECT_EQ(files(), 2);
}

TEST_F(Output, may_have_the_longest_name_there_is) {
  const std::string path = file(std::string(255, 'n'));
  write_output(path, "first");
  write_output(path, "second");
  EXPECT_EQ(content(path), "second");
  EXPECT_EQ(files(), 1);
}

TEST_F(Output, says_what_cannot_be_written_and_leaves_nothing) {
  for (const std::string& path : {file("nowhere/x"), folder_.path().string()}) {
    try {
      write_output(path, "x");
      ADD_FAILURE() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.object(), path);
    }
  }
  EXPECT_EQ(files(), 0);
}

}  // namespace
}  // namespace tandem
