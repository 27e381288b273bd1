// Sequences and their pages, without an engine.
#include "tandem/sequence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <set>

#include "engine/device/operators/kv_cache.h"
#include "engine/run/cache/page_pool.h"
#include "sync/error.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;

std::vector<int32_t> numbers(int64_t count, int32_t first = 0) {
  std::vector<int32_t> ids(static_cast<size_t>(count));
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

// Extends a sequence as an engine does.
std::optional<Sequence::PageCopy> extend(Sequence& sequence, const std::vector<int32_t>& ids) {
  const auto copy = sequence.make_room(std::ssize(ids));
  sequence.append(ids);
  return copy;
}

TEST(PagePool, gives_every_page_once_and_again_when_nobody_has_it) {
  PagePool pool(3);
  std::set<int32_t> taken;
  for (int i = 0; i < 3; ++i) taken.insert(pool.take());
  EXPECT_EQ(taken, (std::set<int32_t>{0, 1, 2}));
  EXPECT_EQ(pool.free_pages(), 0);
  EXPECT_THROW(pool.take(), Error);
  pool.share(1);
  pool.release(1);
  EXPECT_EQ(pool.free_pages(), 0) << "one has it yet";
  pool.release(1);
  EXPECT_EQ(pool.take(), 1);
  EXPECT_THROW(pool.release(3), Error) << "none of its pages";
  pool.release(0);
  EXPECT_THROW(pool.share(0), Error) << "nobody has it";
  EXPECT_THROW(pool.release(0), Error);
}

// If the sequence kept an unfilled page, later code would take its content for text.
TEST(Sequence, that_finds_no_room_is_as_it_was) {
  const auto pool = std::make_shared<PagePool>(3);
  Sequence text(pool);
  extend(text, numbers(300));
  Sequence other = text.fork(270);
  const std::vector<int32_t> before(other.pages().begin(), other.pages().end());
  EXPECT_THROW(other.make_room(500), Error) << "it takes a copy of the shared page and two more, and there is one";
  EXPECT_EQ(std::vector<int32_t>(other.pages().begin(), other.pages().end()), before);
  EXPECT_EQ(pool->free_pages(), 1);
  EXPECT_EQ(pool->users(before.back()), 2);
  const auto copy = extend(other, numbers(10));
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(copy->from, before.back());
}

TEST(Sequence, has_a_page_for_every_256_tokens_and_gives_them_back) {
  const auto pool = std::make_shared<PagePool>(8);
  {
    Sequence text(pool);
    extend(text, numbers(256));
    EXPECT_EQ(pool->free_pages(), 7);
    extend(text, numbers(1));
    EXPECT_EQ(pool->free_pages(), 6);
    EXPECT_EQ(text.position(), 257);
    text.rewind(256);
    EXPECT_EQ(pool->free_pages(), 7);
    EXPECT_THROW(text.rewind(257), Error);
    Sequence other = std::move(text);
    EXPECT_EQ(other.position(), 256);
    Sequence third(pool);
    extend(third, numbers(600));
    third = std::move(other);
    EXPECT_EQ(pool->free_pages(), 7) << "what it had is free";
  }
  EXPECT_EQ(pool->free_pages(), 8);
}

TEST(Sequence, shares_pages_with_its_forks_until_one_of_them_writes) {
  const auto pool = std::make_shared<PagePool>(8);
  Sequence text(pool);
  extend(text, numbers(300));
  Sequence fork = text.fork(290);
  EXPECT_EQ(pool->free_pages(), 6) << "a fork takes none";
  EXPECT_THAT(std::vector(fork.ids().begin(), fork.ids().end()), ::testing::ElementsAreArray(numbers(290)));
  EXPECT_EQ(fork.pages()[1], text.pages()[1]);
  const int32_t shared = text.pages()[1];

  const auto copy = extend(fork, {7, 8});
  ASSERT_TRUE(copy) << "the second page has tokens of both";
  EXPECT_EQ(copy->from, shared);
  EXPECT_EQ(copy->to, fork.pages()[1]);
  EXPECT_NE(fork.pages()[1], text.pages()[1]);
  EXPECT_EQ(fork.pages()[0], text.pages()[0]) << "nobody writes there any more";
  EXPECT_FALSE(extend(text, {9})) << "the page is its own again";
  EXPECT_FALSE(extend(fork, {9}));
  EXPECT_EQ(pool->users(text.pages()[0]), 2);
  fork = Sequence(pool);
  EXPECT_EQ(pool->users(text.pages()[0]), 1);
}

TEST(Sequence, copies_nothing_of_a_shared_page_that_it_begins_anew) {
  const auto pool = std::make_shared<PagePool>(8);
  Sequence text(pool);
  extend(text, numbers(512));
  Sequence fork = text.fork(512);
  fork.rewind(256);
  EXPECT_FALSE(extend(fork, {1})) << "a new page";
  EXPECT_EQ(pool->users(text.pages()[1]), 1);
  EXPECT_NE(fork.pages()[1], text.pages()[1]);
}

TEST(Sequence, keeps_what_it_has_where_no_page_is_free) {
  const auto pool = std::make_shared<PagePool>(2);
  Sequence text(pool), other(pool);
  extend(text, numbers(10));
  extend(other, numbers(10));
  EXPECT_THROW(text.make_room(300), Error);
  EXPECT_EQ(text.position(), 10);
  EXPECT_FALSE(extend(text, numbers(20)));
  text.rewind(0);
  EXPECT_EQ(pool->free_pages(), 1);
}

}  // namespace
}  // namespace tandem
