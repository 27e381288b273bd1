// Copies tensors of a file into packed matrices, on several threads.
//
// Contract: add() lists what is to be packed; run() does it. A job is a run of whole panels, so no two threads write
// the same panel, and is small enough that only little of the file is in memory at any time: its pages are dropped as
// soon as it is packed. The first failure stops the others and is thrown by run(). Borrows the file.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/gguf.h"
#include "engine/model/weights.h"

namespace tandem {

class PackingList {
 public:
  explicit PackingList(const GgufFile& file) : file_(file) {}

  // The tensors' rows one below the other are the matrix.
  void add(const PackedMatrix& matrix, std::vector<const GgufTensor*> sources);
  // done and total count bytes of the file; called on the calling thread, which packs nothing itself.
  void run(int threads, const LoadProgress& progress) const;

 private:
  struct Piece {  // rows of one tensor inside a job
    const GgufTensor* tensor;
    int64_t source_row, destination_row, rows;
  };
  struct Job {
    PackedMatrix matrix;
    std::vector<Piece> pieces;
    uint64_t bytes = 0;  // of the file
  };
  void pack(const Job& job) const;

  const GgufFile& file_;
  std::vector<Job> jobs_;
  uint64_t total_bytes_ = 0;
};

}  // namespace tandem
