// The state of a chain: all that a later sweep depends on, so that it can go on, bit for bit, in
// another process. Its list of fields is the one place that says what belongs to it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/field.h"
#include "base/random.h"
#include "ensemble/ensemble.h"
#include "likelihood/likelihood.h"

namespace obart {

// A state as plain values.
struct ChainRecord {
  std::vector<FieldValue> values;  // in the order of the fields
  std::vector<TreesRecord> trees;  // by ensemble
};

struct ChainState {
  // Backends by ensemble; without them it can only check records.
  ChainState(const Data& data, const Settings& settings, const Rng& start,
             const std::vector<Backend*>& backends);

  Rng rng;
  std::int64_t n_sweeps = 0;
  Ensembles ensembles;
  std::unique_ptr<Likelihood> likelihood;
  double sigma;  // noise of a row of weight one, given latents

  // Everything but the trees.
  std::vector<Field> fields();

  void save(ChainRecord& record);
  // Throws std::invalid_argument that says what is wrong. `kept` are the draws that the chain would
  // append to, by ensemble, or empty: a tree that is not marked as changed is stored with the
  // structure that it has in the last of them.
  void check(const ChainRecord& record, const std::vector<Draws>& kept);
  void restore(const ChainRecord& record);
};

// What stands before the names of an ensemble's values: nothing for the first.
std::string ensemble_prefix(std::size_t e);

// Whether every tree that is not marked as changed has the structure of the last draw.
bool follows(const Draws& kept, const Draws& trees, const std::vector<std::uint8_t>& changed);

}  // namespace obart
