// Copies tensors of a file into packed matrices and vectors, on several threads.
//
// Contract: add() and add_vector() list what is to be packed; then any number of threads may call work(), at any time,
// and finish() starts more of them and waits until everything is packed. A job is a run of whole panels, so no two
// threads write the same panel, and is small enough that only little of the file is in memory at any time: its pages
// are dropped as soon as it is packed. The first failure stops the others and is thrown by finish(). Borrows the file.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <vector>

#include "engine/model/gguf.h"
#include "engine/model/weights.h"

namespace tandem {

// Rows of a tensor of the file.
struct SourceRows {
  const GgufTensor* tensor = nullptr;
  int64_t begin = 0, count = 0;
};

// The type that values of a type are packed as when their matrix is transposed, whose rows have no blocks of the file.
StorageType transposed_type(StorageType type);

class PackingList {
 public:
  explicit PackingList(const GgufFile& file) : file_(file) {}
  PackingList(const PackingList&) = delete;
  PackingList& operator=(const PackingList&) = delete;

  // These rows one below the other are the matrix.
  void add(const PackedMatrix& matrix, const std::vector<SourceRows>& sources);
  // They are its columns, and there is one row of them for each. The matrix is of the source's transposed_type().
  void add_transposed(const PackedMatrix& matrix, const SourceRows& source);
  // The tensors' values one behind the other are the vector of f32.
  void add_vector(const Operand& place, std::vector<const GgufTensor*> sources);

  // Takes jobs until none is left. Throws nothing.
  void work() noexcept;
  // Nobody takes a job any more; those that were begun are ended.
  void stop();
  // Waits for all jobs, with so many threads in all. done and total count bytes of the file; progress is called on the
  // calling thread, which packs nothing itself.
  void finish(int threads, const LoadProgress& progress);

 private:
  struct Piece {  // rows of one tensor inside a job
    const GgufTensor* tensor;
    int64_t source_row, destination_row, rows;
  };
  struct Job {
    PackedMatrix matrix;
    std::vector<Piece> pieces;
    Operand vector;  // with `values`, and no pieces
    std::vector<const GgufTensor*> values;
    uint64_t bytes = 0;       // of the file
    bool transposed = false;  // the one piece is
  };
  void pack(const Job& job) const;
  void add_job(Job job);

  const GgufFile& file_;
  std::vector<Job> jobs_;
  uint64_t total_bytes_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Under the mutex.
  size_t next_ = 0;
  uint64_t done_bytes_ = 0;
  int working_ = 0;  // threads inside work()
  std::exception_ptr failure_;
};

}  // namespace tandem
