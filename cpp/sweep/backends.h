// The backends of a chain: one for all its ensembles on the CPU; on a card one for each ensemble of
// sums, while other ensembles stay on the CPU.
#pragma once

#include <memory>
#include <vector>

#include "backend/make_backend.h"
#include "model/settings.h"

namespace obart {

class Backends {
 public:
  // With a backend that is given, all ensembles are on it.
  Backends(const Data& data, const Settings& settings, std::unique_ptr<Backend> given);

  const std::vector<Backend*>& by_ensemble() const { return by_ensemble_; }
  bool is_elsewhere() const { return !elsewhere_.empty(); }

  // Residuals and targets in this machine's memory: as they are, and as they were written there.
  void fetch_rows() const {
    for (TreesBackend* backend : elsewhere_) backend->fetch_rows();
  }
  void rows_changed() const {
    for (TreesBackend* backend : elsewhere_) backend->rows_changed();
  }
  void fetch_codes() const {
    for (TreesBackend* backend : elsewhere_) backend->fetch_codes();
  }

 private:
  std::vector<std::unique_ptr<Backend>> owned_;
  std::vector<Backend*> by_ensemble_;
  std::vector<TreesBackend*> elsewhere_;
};

}  // namespace obart
