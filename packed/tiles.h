// The tiles of one panel of packed weights, for loops over them (packed/format.h has the layout).
//
// Contract: at() is always inlined, because a call in such a loop would move all sums out of their registers. Some of
//   its users are compiled for instructions that the machine may lack (packed/loops/act_loops.h).
#pragma once

#include "packed/format.h"

namespace tandem {

class TilesOfPanel {
 public:
  TilesOfPanel(const PackedFormat& format, const std::byte* panel);  // not a dense format

  [[gnu::always_inline]] TileView at(int64_t tile) const {
    TileView view;
    const std::byte* first = panel_ + tile * tile_bytes_;
    if (header_bytes_ != 0) {
      const int64_t block = tile / (kSuperColumns / kTileColumns);
      view.scale = reinterpret_cast<const uint16_t*>(panel_ + block * super_bytes_);
      view.minimum = view.scale + kPanelRows;
      first += (block + 1) * header_bytes_;
      view.sub_scale = reinterpret_cast<const int8_t*>(first);
      view.sub_minimum = reinterpret_cast<const uint8_t*>(first + scale_bytes_);
    } else {
      view.scale = reinterpret_cast<const uint16_t*>(first);
      view.minimum = reinterpret_cast<const uint16_t*>(first + scale_bytes_);
    }
    view.codes = reinterpret_cast<const uint8_t*>(first + codes_at_);
    return view;
  }

 private:
  const std::byte* panel_;
  int64_t scale_bytes_, codes_at_, tile_bytes_;  // of a tile: its scales, what lies in front of its codes, and all
  int64_t header_bytes_, super_bytes_;           // of a super block: its header, and the header with its tiles
};

}  // namespace tandem
