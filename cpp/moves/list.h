// The moves, in the order in which they are chosen from and counted. A new move is one file that
// defines propose_NAME (moves/move.h says what that must do) and its name in this list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#define OBART_MOVES(X) \
  X(grow)              \
  X(prune)             \
  X(change)            \
  X(perturb)

namespace obart {

enum class MoveKind : std::uint8_t {
#define OBART_MOVE(name) name,
  OBART_MOVES(OBART_MOVE)
#undef OBART_MOVE
};

inline constexpr const char* kMoveNames[] = {
#define OBART_MOVE(name) #name,
    OBART_MOVES(OBART_MOVE)
#undef OBART_MOVE
};
inline constexpr std::size_t kNumMoves = std::size(kMoveNames);

}  // namespace obart
