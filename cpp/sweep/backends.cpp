#include "sweep/backends.h"

#include "ensemble/leaf_model.h"

namespace obart {
namespace {

bool is_sum(const EnsembleSettings& settings) {
  return std::visit([]<class Leaf>(const Leaf&) { return Leaf::kCombine == Combine::add; },
                    make_leaf_model(settings.leaf));
}

}  // namespace

Backends::Backends(const Data& data, const Settings& settings, std::unique_ptr<Backend> given) {
  if (given != nullptr) {
    by_ensemble_.assign(settings.ensembles.size(), given.get());
    owned_.push_back(std::move(given));
    return;
  }
  Backend* cpu = nullptr;
  const Threads threads{settings.n_threads, settings.threads_fixed};
  const auto on_cpu = [&] {
    if (cpu == nullptr) {
      owned_.push_back(make_backend("cpu", data, threads));
      cpu = owned_.back().get();
    }
    return cpu;
  };
  for (const EnsembleSettings& ensemble : settings.ensembles) {
    if (settings.backend == "cpu" || !is_sum(ensemble)) {
      by_ensemble_.push_back(on_cpu());
      continue;
    }
    owned_.push_back(make_backend(settings.backend, data, threads));
    by_ensemble_.push_back(owned_.back().get());
    if (TreesBackend* backend = owned_.back()->by_trees()) elsewhere_.push_back(backend);
  }
}

}  // namespace obart
