#include "backend/backend.h"

#include <stdexcept>

#include "backend/cpu/cpu_backend.h"

namespace obart {

std::unique_ptr<Backend> make_backend(const std::string& name, std::int64_t n_rows,
                                      std::int64_t n_threads) {
  if (name == "cpu") return std::make_unique<CpuBackend>(n_rows, n_threads);
  throw std::invalid_argument("no backend is called '" + name + "'");
}

}  // namespace obart
