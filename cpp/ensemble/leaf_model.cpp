#include "ensemble/leaf_model.h"

#include <stdexcept>

namespace obart {
namespace {

template <std::size_t I = 0>
LeafModel make(const LeafSettings& settings) {
  if constexpr (I < std::variant_size_v<LeafModel>) {
    using Model = std::variant_alternative_t<I, LeafModel>;
    if (settings.model != Model::kName) return make<I + 1>(settings);
    return Model(settings);
  } else {
    throw std::invalid_argument("no leaf model is called '" + settings.model + "'");
  }
}

}  // namespace

LeafModel make_leaf_model(const LeafSettings& settings) { return make(settings); }

}  // namespace obart
