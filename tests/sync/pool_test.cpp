#include "sync/pool.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <span>
#include <thread>
#include <vector>

#include "sync/error.h"
#include "tests/support/scratch_folder.h"

namespace tandem::sync {
namespace {

TEST(Pool, gives_zeroed_page_aligned_slots_of_whole_pages) {
  Pool pool;
  for (size_t bytes : {size_t{1}, size_t{4096}, size_t{4097}, size_t{3} << 20}) {
    Slot& slot = pool.acquire(bytes, SlotUse::activations, "a");
    EXPECT_EQ(reinterpret_cast<uintptr_t>(slot.data()) % 4096, 0u);
    EXPECT_EQ(slot.size_bytes() % 4096, 0u);
    EXPECT_GE(slot.size_bytes(), bytes);
    EXPECT_LT(slot.size_bytes(), bytes + 4096);
    EXPECT_TRUE(
        std::all_of(slot.data(), slot.data() + slot.size_bytes(), [](std::byte b) { return b == std::byte{0}; }));
  }
}

// A huge page is in memory as a whole once a byte of it is touched. Four slots of 600 KiB are 2.34 MiB.
TEST(Pool, lays_large_activations_side_by_side_so_that_they_share_huge_pages) {
  constexpr uintptr_t kHugePage = size_t{2} << 20;
  constexpr size_t kBytes = size_t{600} << 10;
  Pool pool;
  std::set<uintptr_t> huge_pages;
  const std::byte* end = nullptr;
  for (int i = 0; i < 4; ++i) {
    const Slot& slot = pool.acquire(kBytes, SlotUse::activations, "a");
    const auto address = reinterpret_cast<uintptr_t>(slot.data());
    huge_pages.insert(address / kHugePage);
    huge_pages.insert((address + slot.size_bytes() - 1) / kHugePage);
    if (i > 0) {
      EXPECT_EQ(slot.data(), end) << "no page between two slots";
    }
    end = slot.data() + slot.size_bytes();
  }
  EXPECT_EQ(huge_pages.size(), 2u);
  EXPECT_EQ(pool.mapped_bytes(), 4 * kBytes);
}

TEST(Pool, gives_an_activation_larger_than_what_is_mapped_at_once_a_place_of_its_own) {
  Pool pool;
  Slot& small = pool.acquire(size_t{600} << 10, SlotUse::activations, "small");
  Slot& large = pool.acquire(size_t{100} << 20, SlotUse::activations, "large");
  Slot& after = pool.acquire(size_t{600} << 10, SlotUse::activations, "after");
  large.data()[0] = large.data()[large.size_bytes() - 1] = std::byte{1};
  for (const Slot* other : {&small, &after}) {
    EXPECT_TRUE(other->data() + other->size_bytes() <= large.data() ||
                other->data() >= large.data() + large.size_bytes());
    EXPECT_TRUE(
        std::all_of(other->data(), other->data() + other->size_bytes(), [](std::byte b) { return b == std::byte{0}; }));
  }
}

TEST(Pool, reuses_a_released_slot_at_the_same_address_and_zeroes_it) {
  Pool pool;
  Slot& first = pool.acquire(8192, SlotUse::activations, "first");
  std::byte* address = first.data();
  const uint64_t id = first.id();
  std::memset(first.data(), 0xff, first.size_bytes());
  pool.release(first);
  Slot& second = pool.acquire(5000, SlotUse::activations, "second");
  EXPECT_EQ(second.data(), address);
  EXPECT_EQ(second.id(), id) << "an import made for the slot stays valid";
  EXPECT_EQ(second.label(), "second");
  EXPECT_EQ(second.data()[100], std::byte{0});
  EXPECT_EQ(pool.mapped_bytes(), 8192u);
}

TEST(Pool, keeps_a_discarded_slot_in_use_with_zeros_and_forgets_its_pages) {
  Pool pool;
  Slot& slot = pool.acquire(3 * 4096, SlotUse::device_local, "a");
  std::memset(slot.data(), 7, slot.size_bytes());
  Pool::discard(slot);
  unsigned char pages[3];
  ASSERT_EQ(mincore(slot.data(), slot.size_bytes(), pages), 0);
  for (const unsigned char page : pages) EXPECT_EQ(page & 1, 0);
  EXPECT_TRUE(
      std::ranges::all_of(std::span(slot.data(), slot.size_bytes()), [](std::byte b) { return b == std::byte{}; }));
  EXPECT_NE(&pool.acquire(3 * 4096, SlotUse::device_local, "b"), &slot);
}

TEST(Pool, does_not_reuse_a_slot_of_another_use_or_one_far_too_large) {
  Pool pool;
  Slot& large = pool.acquire(1 << 20, SlotUse::activations, "large");
  pool.release(large);
  EXPECT_NE(&pool.acquire(4096, SlotUse::activations, "small"), &large);
  EXPECT_NE(&pool.acquire(1 << 20, SlotUse::weights, "weights"), &large);
  EXPECT_EQ(&pool.acquire(1 << 20, SlotUse::activations, "again"), &large);
}

TEST(Pool, leaves_a_kept_slot_to_its_keepers_also_behind_its_end) {
  std::shared_ptr<const void> kept;
  {
    Pool pool;
    Slot& slot = pool.acquire(8192, SlotUse::activations, "kept", true);
    std::memset(slot.data(), 7, slot.size_bytes());
    kept = slot.keep();
    EXPECT_EQ(kept.get(), slot.data());
    pool.release(slot);
    EXPECT_TRUE(slot.is_kept());
    EXPECT_NE(&pool.acquire(8192, SlotUse::activations, "next"), &slot);
    Slot& dropped = pool.acquire(4096, SlotUse::activations, "dropped", true);
    const std::shared_ptr<const void> first = dropped.keep();
    dropped.keep().reset();
    EXPECT_TRUE(dropped.is_kept()) << "one of two keepers is left";
  }
  const auto* bytes = static_cast<const std::byte*>(kept.get());
  EXPECT_TRUE(std::all_of(bytes, bytes + 8192, [](std::byte b) { return b == std::byte{7}; }));
}

TEST(Pool, reuses_a_kept_slot_when_its_last_keeper_has_gone) {
  Pool pool;
  Slot& slot = pool.acquire(8192, SlotUse::activations, "kept", true);
  slot.keep().reset();
  pool.release(slot);
  Slot& plain = pool.acquire(16384, SlotUse::activations, "plain");
  pool.release(plain);
  EXPECT_EQ(&pool.acquire(8192, SlotUse::activations, "keepable", true), &slot) << "only this one can be kept";
  EXPECT_THROW(plain.keep(), Error);
}

TEST(Pool, refuses_a_second_release_a_foreign_slot_and_an_empty_one) {
  Pool pool, other;
  Slot& slot = pool.acquire(1, SlotUse::activations, "twice");
  EXPECT_THROW(other.release(slot), Error);
  pool.release(slot);
  EXPECT_THROW(pool.release(slot), Error);
  EXPECT_THROW(pool.acquire(0, SlotUse::activations, "empty"), Error);
}

TEST(Pool, says_what_it_could_not_map) {
  Pool pool;
  try {
    pool.acquire(size_t{1} << 60, SlotUse::weights, "blk.0.everything");
    FAIL() << "2^60 bytes were mapped";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("blk.0.everything"));
  }
}

TEST(Pool, serves_several_threads_at_once) {
  Pool pool;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, t] {
      for (int i = 0; i < 200; ++i) {
        Slot& slot = pool.acquire(4096, SlotUse::activations, "t");
        slot.data()[0] = static_cast<std::byte>(t);
        ASSERT_EQ(slot.data()[0], static_cast<std::byte>(t));
        pool.release(slot);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_LE(pool.mapped_bytes(), 4u * 4096u) << "slots are reused, not added";
}

// Three pages of 'a', 'b' and 'c' in a file that stays open while the object lives.
class Pages {
 public:
  Pages() {
    std::ofstream(path_, std::ios::binary) << content();
    file_ = open(path_.c_str(), O_RDONLY);
  }
  ~Pages() { close(file_); }
  int file() const { return file_; }
  static std::string content() { return std::string(4096, 'a') + std::string(4096, 'b') + std::string(4096, 'c'); }
  std::string now() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  const testing::ScratchFolder folder_;
  const std::string path_ = folder_.file("pages");
  int file_ = -1;
};

TEST(Pool, slots_over_a_file_hold_its_bytes_and_what_is_written_to_them_stays_in_the_process) {
  const Pages pages;
  Pool pool;
  const FilePart parts[] = {{4096, 100, "b"}, {8192, 4096, "c"}};
  const std::vector<Slot*> slots = pool.map_file(pages.file(), parts, SlotUse::weights);
  ASSERT_EQ(slots.size(), 2u);
  for (const Slot* slot : slots) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(slot->data()) % 4096, 0u);
    EXPECT_EQ(slot->size_bytes(), 4096u) << "whole pages";
    EXPECT_EQ(slot->use(), SlotUse::weights);
    const std::string bytes(slot->as<char>(), slot->size_bytes());
    EXPECT_EQ(bytes, std::string(4096, slot->label()[0]));
  }
  slots[0]->as<char>()[0] = 'x';
  EXPECT_EQ(pages.now(), Pages::content());
  EXPECT_EQ(pool.mapped_bytes(), 2u * 4096);
}

TEST(Pool, gives_nobody_a_slot_over_a_file_that_was_released) {
  const Pages pages;
  Pool pool;
  const FilePart parts[] = {{0, 4096, "a"}};
  Slot& slot = *pool.map_file(pages.file(), parts, SlotUse::weights).front();
  pool.release(slot);
  EXPECT_NE(&pool.acquire(4096, SlotUse::weights, "next"), &slot);
  EXPECT_EQ(slot.as<char>()[0], 'a');
}

TEST(Pool, refuses_parts_that_are_not_inside_the_file_or_begin_inside_a_page) {
  const Pages pages;
  Pool pool;
  const FilePart wrong[] = {
      {8192, 4097, "past the end"},   {12288, 1, "behind the end"}, {~uint64_t{4095}, 4096, "far behind the end"},
      {4096, ~size_t{0}, "too long"}, {100, 100, "inside a page"},  {0, 0, "empty"}};
  for (const FilePart& part : wrong) {
    EXPECT_THROW(pool.map_file(pages.file(), std::span(&part, 1), SlotUse::weights), Error) << part.label;
  }
  EXPECT_EQ(pool.mapped_bytes(), 0u);
}

TEST(Pool, counts_changes_of_a_slots_parts) {
  Pool pool;
  Slot& slot = pool.acquire(4096, SlotUse::activations, "parts");
  slot.changed(0, 100);
  EXPECT_FALSE(slot.is_divided());
  EXPECT_EQ(slot.parts(), 0U);
  slot.divide(1000);
  ASSERT_EQ(slot.parts(), 5U) << "the last one is smaller";
  const auto changes = [&] {
    std::vector<uint64_t> all;
    for (size_t part = 0; part < slot.parts(); ++part) all.push_back(slot.changes(part));
    return all;
  };
  EXPECT_EQ(changes(), (std::vector<uint64_t>{0, 0, 0, 0, 0}));
  slot.changed(1000, 1000);
  slot.changed(1999, 2);
  slot.changed(4095, 1);
  slot.changed(500, 0);
  EXPECT_EQ(changes(), (std::vector<uint64_t>{0, 2, 1, 0, 1}));
  pool.release(slot);
  EXPECT_FALSE(pool.acquire(4096, SlotUse::activations, "the next one").is_divided());
}

}  // namespace
}  // namespace tandem::sync
