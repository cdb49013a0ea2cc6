// Backends by name.
#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"
#include "base/threads.h"
#include "model/data.h"

namespace obart {

// "cpu", "cuda", or "plain_card": a card's kernels on the CPU. Throws std::invalid_argument for
// another name, and CardError where the card cannot be used.
std::unique_ptr<Backend> make_backend(const std::string& name, const Data& data, Threads threads);

}  // namespace obart
