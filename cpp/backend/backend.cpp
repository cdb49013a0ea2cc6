#include "backend/backend.h"

#include <stdexcept>

#include "backend/cpu/cpu_backend.h"

namespace obart {

std::unique_ptr<Backend> make_backend(const std::string& name, std::int64_t n_rows,
                                      Threads threads) {
  if (name == "cpu") return std::make_unique<CpuBackend>(n_rows, threads);
  throw std::invalid_argument("no backend is called '" + name + "'");
}

}  // namespace obart
