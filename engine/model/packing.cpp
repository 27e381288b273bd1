#include "engine/model/packing.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace tandem {
namespace {

// Of packed bytes in one job: large against the cost of handing it out, small against a model.
constexpr size_t kJobBytes = size_t{1} << 20;

}  // namespace

void PackingList::add(const PackedMatrix& matrix, std::vector<const GgufTensor*> sources) {
  const int64_t panels = panel_count(matrix.rows);
  const int64_t job_panels =
      std::max<int64_t>(1, static_cast<int64_t>(kJobBytes / panel_bytes(matrix.format, matrix.columns)));
  for (int64_t panel = 0; panel < panels; panel += job_panels) {
    const int64_t begin = panel * kPanelRows;
    const int64_t end = std::min(matrix.rows, (panel + job_panels) * kPanelRows);
    Job job{matrix, {}, 0};
    int64_t first = 0;  // the destination row of the source's first row
    for (const GgufTensor* tensor : sources) {
      const size_t bytes_per_row = row_bytes(tensor->type, matrix.columns);
      const int64_t last = first + static_cast<int64_t>(tensor->bytes / bytes_per_row);
      const int64_t from = std::max(begin, first), to = std::min(end, last);
      if (from < to) {
        job.pieces.push_back({tensor, from - first, from, to - from});
        job.bytes += static_cast<uint64_t>(to - from) * bytes_per_row;
      }
      first = last;
    }
    total_bytes_ += job.bytes;
    jobs_.push_back(std::move(job));
  }
}

void PackingList::pack(const Job& job) const {
  const int64_t columns = job.matrix.columns;
  for (const Piece& piece : job.pieces) {
    const size_t bytes_per_row = row_bytes(piece.tensor->type, columns);
    const std::byte* source = piece.tensor->data + static_cast<size_t>(piece.source_row) * bytes_per_row;
    pack_rows(piece.tensor->type, source, columns, piece.destination_row, piece.rows, job.matrix.data.as<std::byte>());
    file_.drop_pages({source, static_cast<size_t>(piece.rows) * bytes_per_row});
  }
}

void PackingList::run(int threads, const LoadProgress& progress) const {
  std::mutex mutex;
  std::condition_variable changed;
  size_t next = 0;
  uint64_t done = 0;
  int running = std::clamp(threads, 1, 256);
  std::exception_ptr failure;

  const auto work = [&] {
    std::unique_lock lock(mutex);
    while (next < jobs_.size() && !failure) {
      const Job& job = jobs_[next++];
      lock.unlock();
      std::exception_ptr problem;
      try {
        pack(job);
      } catch (...) {
        problem = std::current_exception();
      }
      lock.lock();
      if (problem && !failure) failure = problem;
      done += job.bytes;
      changed.notify_one();
    }
    --running;
    changed.notify_one();
  };

  std::vector<std::jthread> workers;
  for (int i = running; i > 0; --i) workers.emplace_back(work);
  std::unique_lock lock(mutex);
  // Workers may be done before this thread first looks: what they did is reported all the same.
  for (uint64_t reported = 0; running > 0 || (reported != done && !failure);) {
    changed.wait(lock, [&] { return running == 0 || done != reported; });
    reported = done;
    if (progress && !failure) {
      lock.unlock();
      std::exception_ptr problem;  // thrown on, it ends the loading
      try {
        progress(reported, total_bytes_);
      } catch (...) {
        problem = std::current_exception();
      }
      lock.lock();
      if (problem && !failure) failure = problem;
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace tandem
