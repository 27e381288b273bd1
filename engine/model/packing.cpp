#include "engine/model/packing.h"

#include <algorithm>
#include <thread>
#include <utility>

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
    Job job{matrix, {}, {}, {}, 0};
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

void PackingList::add_vector(const Operand& place, std::vector<const GgufTensor*> sources) {
  Job job{{}, {}, place, std::move(sources), 0};
  for (const GgufTensor* tensor : job.values) job.bytes += tensor->bytes;
  total_bytes_ += job.bytes;
  jobs_.push_back(std::move(job));
}

void PackingList::pack(const Job& job) const {
  // A vector's pages go with those of the matrices around it: dropping them here would take pages of two mebibytes
  // that other threads are reading.
  for (float* out = job.values.empty() ? nullptr : job.vector.as<float>(); const GgufTensor* tensor : job.values) {
    decode_row(tensor->type, tensor->data, out, tensor->shape[0]);
    out += tensor->shape[0];
  }
  const int64_t columns = job.matrix.columns;
  for (const Piece& piece : job.pieces) {
    const size_t bytes_per_row = row_bytes(piece.tensor->type, columns);
    const std::byte* source = piece.tensor->data + static_cast<size_t>(piece.source_row) * bytes_per_row;
    pack_rows(piece.tensor->type, source, columns, piece.destination_row, piece.rows, job.matrix.data.as<std::byte>());
    file_.drop_pages({source, static_cast<size_t>(piece.rows) * bytes_per_row});
  }
}

void PackingList::work() noexcept {
  std::unique_lock lock(mutex_);
  ++working_;
  while (next_ < jobs_.size() && !failure_) {
    const Job& job = jobs_[next_++];
    lock.unlock();
    std::exception_ptr problem;
    try {
      pack(job);
    } catch (...) {
      problem = std::current_exception();
    }
    lock.lock();
    if (problem && !failure_) failure_ = problem;
    done_bytes_ += job.bytes;
    changed_.notify_one();
  }
  --working_;
  changed_.notify_one();
}

void PackingList::stop() {
  const std::lock_guard lock(mutex_);
  next_ = jobs_.size();
}

void PackingList::finish(int threads, const LoadProgress& progress) {
  std::vector<std::jthread> workers;  // joined without the lock
  std::unique_lock lock(mutex_);
  for (int i = std::clamp(threads, 1, 256) - working_; i > 0; --i) workers.emplace_back([this] { work(); });
  // Workers may be done before this thread first looks: what they did is reported all the same. A worker that has not
  // begun yet finds nothing left, or does what is left before it ends.
  const auto ended = [&] { return working_ == 0 && (failure_ || next_ == jobs_.size()); };
  for (uint64_t reported = 0; !ended() || (reported != done_bytes_ && !failure_);) {
    changed_.wait(lock, [&] { return ended() || done_bytes_ != reported; });
    reported = done_bytes_;
    if (progress && !failure_) {
      lock.unlock();
      std::exception_ptr problem;  // thrown on, it ends the loading
      try {
        progress(reported, total_bytes_);
      } catch (...) {
        problem = std::current_exception();
      }
      lock.lock();
      if (problem && !failure_) failure_ = problem;
    }
  }
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace tandem
