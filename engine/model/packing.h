// Copies tensors of a file into packed matrices and vectors, on several threads.
//
// Contract: add() and add_vector() list the tensors to pack. After that any number of threads may call work(), at any
// time. finish() starts more of them and waits until everything is packed. A job is a run of whole panels, so no two
// threads write the same panel. Jobs are small, and the pages of the file are dropped as soon as a job has packed them.
// So only little of the file is in memory at any time. The first failure stops the other threads, and finish() throws
// it. Borrows the file.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <vector>

#include "engine/model/gguf.h"
#include "engine/model/weights.h"

namespace tandem {

// Some rows of a tensor of the file.
struct SourceRows {
  const GgufTensor* tensor = nullptr;
  int64_t begin = 0, count = 0;
};

// The type as which a transposed matrix is packed. Its rows do not consist of the file's blocks, so block
// types become f32.
StorageType transposed_type(StorageType type);

class PackingList {
 public:
  explicit PackingList(const GgufFile& file) : file_(file) {}
  PackingList(const PackingList&) = delete;
  PackingList& operator=(const PackingList&) = delete;

  // The matrix consists of these rows, one source below the other.
  void add(const PackedMatrix& matrix, const std::vector<SourceRows>& sources);
  // The source's rows are the matrix's columns: one source row for each column. The matrix has the
  // source's transposed_type().
  void add_transposed(const PackedMatrix& matrix, const SourceRows& source);
  // The f32 vector consists of the tensors' values, one tensor after the other.
  void add_vector(const Operand& place, std::vector<const GgufTensor*> sources);

  // Runs jobs until none is left. Throws nothing.
  void work() noexcept;
  // No thread begins another job. Jobs that have begun are finished.
  void stop();
  // Waits for all jobs, with `threads` workers in all. done and total count bytes of the file. progress is called on
  // the calling thread, which packs nothing itself.
  void finish(int threads, const LoadProgress& progress);

 private:
  struct Piece {  // rows of one tensor inside a job
    const GgufTensor* tensor;
    int64_t source_row, destination_row, rows;
  };
  struct Job {
    PackedMatrix matrix;
    std::vector<Piece> pieces;
    Operand vector;  // only with `values` and without pieces
    std::vector<const GgufTensor*> values;
    uint64_t bytes = 0;       // of the file
    bool transposed = false;  // the job's single piece is transposed
  };
  void pack(const Job& job) const;
  void add_job(Job job);

  const GgufFile& file_;
  std::vector<Job> jobs_;
  uint64_t total_bytes_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by the mutex.
  size_t next_ = 0;
  uint64_t done_bytes_ = 0;
  int working_ = 0;  // threads inside work()
  std::exception_ptr failure_;
};

}  // namespace tandem
