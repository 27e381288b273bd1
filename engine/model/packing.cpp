#include "engine/model/packing.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "sync/error.h"

namespace tandem {
namespace {

// Packed bytes in one job: large compared with the cost of starting a job, small compared with a model.
constexpr size_t kJobBytes = size_t{1} << 20;

// Turns [columns, rows] into [rows, columns].
template <typename T>
std::vector<T> transposed(const T* from, int64_t rows, int64_t columns) {
  std::vector<T> to(static_cast<size_t>(rows * columns));
  for (int64_t column = 0; column < columns; ++column)
    for (int64_t row = 0; row < rows; ++row) to[static_cast<size_t>(row * columns + column)] = *from++;
  return to;
}

template <typename T>
void pack_turned(StorageType type, const T* values, const PackedMatrix& matrix) {
  const std::vector<T> turned = transposed(values, matrix.rows, matrix.columns);
  pack_rows(type, turned.data(), matrix.columns, 0, matrix.rows, matrix.data.as<std::byte>());
}

// Packs a matrix whose columns are the rows of the file. Halves stay halves; other types are decoded to f32 first.
void pack_transposed(StorageType type, const std::byte* source, const PackedMatrix& matrix) {
  const size_t row_values = static_cast<size_t>(matrix.rows), count = row_values * static_cast<size_t>(matrix.columns);
  if (transposed_type(type) != StorageType::f32) {
    std::vector<uint16_t> halves(count);  // the file's values may be unaligned
    std::memcpy(halves.data(), source, count * sizeof(uint16_t));
    return pack_turned(type, halves.data(), matrix);
  }
  std::vector<float> values(count);
  for (size_t row = 0; row < static_cast<size_t>(matrix.columns); ++row)
    decode_row(type, source + row * row_bytes(type, matrix.rows), values.data() + row * row_values, matrix.rows);
  pack_turned(StorageType::f32, values.data(), matrix);
}

}  // namespace

StorageType transposed_type(StorageType type) {
  return type == StorageType::f16 || type == StorageType::bf16 ? type : StorageType::f32;
}

void PackingList::add_job(Job job) {
  total_bytes_ += job.bytes;
  jobs_.push_back(std::move(job));
}

// Cuts the matrix into jobs of whole panels. The sources lie below each other in the matrix, so a job collects a piece
// of each source that reaches into its rows [begin, end).
void PackingList::add(const PackedMatrix& matrix, const std::vector<SourceRows>& sources) {
  const int64_t panels = panel_count(matrix.rows);
  // At least one panel, however large it is.
  const int64_t job_panels =
      std::max<int64_t>(1, static_cast<int64_t>(kJobBytes / panel_bytes(matrix.format, matrix.columns)));
  for (int64_t panel = 0; panel < panels; panel += job_panels) {
    const int64_t begin = panel * kPanelRows;
    const int64_t end = std::min(matrix.rows, (panel + job_panels) * kPanelRows);
    Job job{matrix, {}, {}, {}};
    int64_t first = 0;  // the matrix row of the source's first row
    for (const SourceRows& source : sources) {
      const int64_t last = first + source.count;
      const int64_t from = std::max(begin, first), to = std::min(end, last);
      if (from < to) {
        job.pieces.push_back({source.tensor, source.begin + from - first, from, to - from});
        job.bytes += static_cast<uint64_t>(to - from) * row_bytes(source.tensor->type, matrix.columns);
      }
      first = last;
    }
    add_job(std::move(job));
  }
}

// The whole matrix is one job. A panel needs values from every row of the file, so several jobs would each decode all
// of it.
void PackingList::add_transposed(const PackedMatrix& matrix, const SourceRows& source) {
  TANDEM_CHECK(source.count == matrix.columns, "one row of the file for each column");
  Job job{matrix, {{source.tensor, source.begin, 0, source.count}}, {}, {}};
  job.bytes = static_cast<uint64_t>(source.count) * row_bytes(source.tensor->type, matrix.rows);
  job.transposed = true;
  add_job(std::move(job));
}

void PackingList::add_vector(const Operand& place, std::vector<const GgufTensor*> sources) {
  Job job{{}, {}, place, std::move(sources)};
  for (const GgufTensor* tensor : job.values) job.bytes += tensor->bytes;
  add_job(std::move(job));
}

// Packs the vector or the pieces of one job, then drops the pages of the file that the pieces were read from.
void PackingList::pack(const Job& job) const {
  // A vector's pages are dropped together with those of the matrices around it. Dropping them here would remove pages
  // of two mebibytes that other threads are reading.
  for (float* out = job.values.empty() ? nullptr : job.vector.as<float>(); const GgufTensor* tensor : job.values) {
    const auto values = static_cast<int64_t>(tensor->bytes / info(tensor->type).block_bytes);
    decode_row(tensor->type, tensor->data, out, values);
    out += values;
  }
  for (const Piece& piece : job.pieces) {
    const size_t bytes_per_row = row_bytes(piece.tensor->type, job.transposed ? job.matrix.rows : job.matrix.columns);
    const std::byte* source = piece.tensor->data + static_cast<size_t>(piece.source_row) * bytes_per_row;
    if (job.transposed)
      pack_transposed(piece.tensor->type, source, job.matrix);
    else
      pack_rows(piece.tensor->type, source, job.matrix.columns, piece.destination_row, piece.rows,
                job.matrix.data.as<std::byte>());
    file_.drop_pages({source, static_cast<size_t>(piece.rows) * bytes_per_row});
  }
}

// A failure ends this thread's loop and, through failure_, every other thread's. finish() sees it by changed_.
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

// Threads look at next_ before each job. Jobs that are running come to their end.
void PackingList::stop() {
  const std::lock_guard lock(mutex_);
  next_ = jobs_.size();
}

// Adds workers until `threads` are working, then reports progress until all jobs have ended or one failed. The lock is
// released while progress() runs.
void PackingList::finish(int threads, const LoadProgress& progress) {
  std::vector<std::jthread> workers;  // joined after the lock is released
  std::unique_lock lock(mutex_);
  for (int i = std::clamp(threads, 1, 256) - working_; i > 0; --i) workers.emplace_back([this] { work(); });
  // Workers may finish before this thread first looks; their work is reported all the same. A worker that starts late
  // runs the remaining jobs, or ends at once.
  const auto ended = [&] { return working_ == 0 && (failure_ || next_ == jobs_.size()); };
  for (uint64_t reported = 0; !ended() || (reported != done_bytes_ && !failure_);) {
    changed_.wait(lock, [&] { return ended() || done_bytes_ != reported; });
    reported = done_bytes_;
    if (progress && !failure_) {
      lock.unlock();
      std::exception_ptr problem;  // an exception of progress() ends the loading
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
