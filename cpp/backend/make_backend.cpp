#include "backend/make_backend.h"

#include <stdexcept>

#include "backend/card/card_backend.h"
#include "backend/cpu/cpu_backend.h"

namespace obart {

std::unique_ptr<Backend> make_backend(const std::string& name, const Data& data, Threads threads) {
  if (name == "cpu") return std::make_unique<CpuBackend>(data.n_rows(), threads);
  if (name == "cuda") return std::make_unique<CardBackend>(data, card::make_cuda_card());
  if (name == "plain_card") return std::make_unique<CardBackend>(data, card::make_plain_card());
  throw std::invalid_argument("no backend is called '" + name + "'");
}

}  // namespace obart
