#include "sweep/chain_state.h"

#include <stdexcept>

namespace obart {
namespace {

// Counters stay exact in any language below this, and cannot overflow when the chain goes on.
constexpr double kMaxCount = 0x1p53;
// What can be squared, divided by and summed without overflow: scales, and numbers of rows.
constexpr double kSmallestScale = 1e-100, kLargestScale = 1e100;
// The product of two scales, leaf_sd and that of a tree, can still be squared.
constexpr double kSmallestTreeScale = 1e-50, kLargestTreeScale = 1e50;
constexpr double kLargestOfRow = 1e30;

template <class Buffer>
auto rows_of(const Data& data, Buffer& buffer) {
  return std::span(buffer.data(), static_cast<std::size_t>(data.n_rows()));
}

void add_fields(std::vector<Field>& fields, const std::string& prefix, Ensemble& ensemble) {
  const auto add = [&](const char* name, Field::Place place, double low, double high) {
    fields.push_back({prefix + name, place, low, high});
  };
  add("leaf_sd", &ensemble.leaf_sd, kSmallestScale, kLargestScale);
  if (!ensemble.tree_scales.empty())
    add("tree_scales", std::span(ensemble.tree_scales), kSmallestTreeScale, kLargestTreeScale);
  add("theta", std::span(ensemble.theta), 0.0, 1.0);
  // A sampler that can draw no column at all would try for ever.
  if (ensemble.data.p_cont() > 0) fields.back().may_be_all_zero = false;
  if (!ensemble.direction_weights.empty()) {
    add("direction_weights", std::span(ensemble.direction_weights), 0.0, 1.0);
    fields.back().may_be_all_zero = false;
  }
  add("changed", std::span(ensemble.changed), 0.0, 1.0);
  add("residual", rows_of(ensemble.data, ensemble.residual), -kLargestOfRow, kLargestOfRow);
  add("target", rows_of(ensemble.data, ensemble.target), -kLargestOfRow, kLargestOfRow);
  const auto add_counts = [&](const char* name, MoveCounts::ByMove& counts) {
    add(name, std::span(counts), 0.0, kMaxCount);
    fields.back().may_be_shorter = true;  // a file may be older than a move
  };
  add_counts("proposed", ensemble.total_moves.proposed);
  add_counts("accepted", ensemble.total_moves.accepted);
  add_counts("invalid", ensemble.total_moves.invalid);
}

}  // namespace

std::string ensemble_prefix(std::size_t e) {
  return e == 0 ? "" : "ensemble." + std::to_string(e) + ".";
}

bool follows(const Draws& kept, const Draws& trees, const std::vector<std::uint8_t>& changed) {
  if (kept.n_draws() == 0) return true;
  for (std::size_t m = 0; m < changed.size(); ++m)
    if (changed[m] == 0 &&
        !Draws::same_structure(kept, kept.n_draws() - 1, trees, 0, static_cast<std::int64_t>(m)))
      return false;
  return true;
}

ChainState::ChainState(const Data& data, const Settings& settings, const Rng& start,
                       const std::vector<Backend*>& backends)
    : rng(start), likelihood(make_likelihood(data, settings)), sigma(likelihood->first_sigma()) {
  for (std::size_t e = 0; e < settings.ensembles.size(); ++e)
    ensembles.emplace_back(data, settings.ensembles[e], backends.empty() ? nullptr : backends[e]);
}

std::vector<Field> ChainState::fields() {
  std::vector<Field> fields{
      {"rng", std::span(rng.words()), 0.0, 0x1p64, false},
      {"n_sweeps", &n_sweeps, 0.0, kMaxCount},
      {"sigma", &sigma, kSmallestScale, kLargestScale},
  };
  for (std::size_t e = 0; e < ensembles.size(); ++e)
    add_fields(fields, ensemble_prefix(e), ensembles[e]);
  likelihood->add_fields(fields);
  return fields;
}

void ChainState::save(ChainRecord& record) {
  const std::vector<Field> all = fields();
  record.values.resize(all.size());
  for (std::size_t k = 0; k < all.size(); ++k) all[k].save(record.values[k]);
  record.trees.resize(ensembles.size());
  for (std::size_t e = 0; e < ensembles.size(); ++e) ensembles[e].save_trees(record.trees[e]);
}

void ChainState::check(const ChainRecord& record, const std::vector<Draws>& kept) {
  const std::vector<Field> all = fields();
  if (record.values.size() != all.size() || record.trees.size() != ensembles.size())
    throw std::invalid_argument("it is a state of another model");
  for (std::size_t k = 0; k < all.size(); ++k) all[k].check(record.values[k]);
  for (std::size_t e = 0; e < ensembles.size(); ++e) {
    ensembles[e].check_trees(record.trees[e]);
    if (e >= kept.size()) continue;
    const std::string name = ensemble_prefix(e) + "changed";
    for (std::size_t k = 0; k < all.size(); ++k)
      if (all[k].name == name && !follows(kept[e], record.trees[e].trees,
                                          std::get<std::vector<std::uint8_t>>(record.values[k])))
        throw std::invalid_argument(
            "a tree that is not marked as changed differs from the last draw");
  }
}

void ChainState::restore(const ChainRecord& record) {
  const std::vector<Field> all = fields();
  for (std::size_t e = 0; e < ensembles.size(); ++e) ensembles[e].restore_trees(record.trees[e]);
  for (std::size_t k = 0; k < all.size(); ++k) all[k].restore(record.values[k]);
}

}  // namespace obart
