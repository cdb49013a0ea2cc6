#include "backend/card/card_backend.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>

#include "backend/card/slots.h"
#include "backend/card/update_kernel.h"
#include "base/blocks.h"
#include "base/random.h"

namespace obart {
namespace {

constexpr std::int32_t kMostExchanged = 128;  // parts: four for each lane of a warp
constexpr int kRulesTogether = 16;

template <class T>
std::int64_t in_elements(const T* at, const T* base, std::int64_t stride) {
  return (at - base) / stride;
}

}  // namespace

// A table's columns on the card, shared by the chains that work on it.
struct CardBackend::Columns {
  std::shared_ptr<card::Card> card;  // of the chain that came first
  card::Memory cont, cat;

  Columns(const Data& data, const std::shared_ptr<card::Card>& where, std::int64_t n_slots);
  static std::shared_ptr<Columns> of(const Data& data, const std::shared_ptr<card::Card>& where,
                                     std::int64_t n_slots);
};

CardBackend::Columns::Columns(const Data& data, const std::shared_ptr<card::Card>& where,
                              std::int64_t n_slots)
    : card(where),
      cont(*where, static_cast<std::size_t>(data.p_cont_of_table() * n_slots) * sizeof(float)),
      cat(*where, static_cast<std::size_t>(data.p_cat() * n_slots) * sizeof(std::uint32_t)) {
  const auto bytes = static_cast<std::size_t>(data.n_padded()) * sizeof(float);
  const card::Memory in_rows(*where, bytes);
  const auto send = [&](const void* column, std::uint32_t* to) {
    where->copy_in(in_rows.as<void>(), column, bytes);
    where->order({to, in_rows.as<void>(), n_slots, data.n_padded(), 0, 0, sizeof(float), 0, 0},
                 static_cast<int>(data.n_blocks()), 1);
  };
  for (std::int64_t j = 0; j < data.p_cont_of_table(); ++j)
    send(data.cont(j), cont.as<std::uint32_t>() + j * n_slots);
  for (std::int64_t j = 0; j < data.p_cat(); ++j)
    send(data.cat(j), cat.as<std::uint32_t>() + j * n_slots);
  std::uint32_t last = 0;  // another chain may use them at once: wait until they are there
  if (data.p_cont_of_table() > 0) where->copy_out(&last, cont.as<void>(), sizeof last);
  if (data.p_cat() > 0) where->copy_out(&last, cat.as<void>(), sizeof last);
}

std::shared_ptr<CardBackend::Columns> CardBackend::Columns::of(
    const Data& data, const std::shared_ptr<card::Card>& where, std::int64_t n_slots) {
  struct Key {
    const void *cont, *cat;
    std::string card;
    auto operator<=>(const Key&) const = default;
  };
  static std::mutex lock;
  static std::map<Key, std::weak_ptr<Columns>> all;
  const std::lock_guard guard(lock);
  std::erase_if(all, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Columns>& found = all[Key{data.cont(0), data.cat(0), where->name()}];
  std::shared_ptr<Columns> columns = found.lock();
  if (columns == nullptr) {
    columns = std::make_shared<Columns>(data, where, n_slots);
    found = columns;
  }
  return columns;
}

// Arrays that go to the card in one piece.
class CardBackend::Packet {
 public:
  explicit Packet(std::vector<unsigned char>& bytes) : bytes_(bytes) { bytes_.clear(); }

  // Where it lies.
  template <class T>
  std::size_t add(const T* items, std::size_t n) {
    const std::size_t at = (bytes_.size() + 15) / 16 * 16;
    bytes_.resize(at + n * sizeof(T));
    if (n > 0) std::memcpy(bytes_.data() + at, items, n * sizeof(T));
    return at;
  }
  std::size_t size() const { return bytes_.size(); }
  const void* data() const { return bytes_.data(); }

 private:
  std::vector<unsigned char>& bytes_;
};

CardBackend::CardBackend(const Data& data, std::shared_ptr<card::Card> card)
    : data_(data),
      card_(std::move(card)),
      host_(data.n_rows(), Threads{}),
      n_rows_(data.n_rows()),
      n_padded_(data.n_padded()),
      n_slots_(data.n_blocks() * kBlockRows),
      n_blocks_(static_cast<int>(data.n_blocks())) {
  const detail::Ziggurat& table = detail::kZiggurat;
  static_assert(sizeof(card::ZigguratLayer) == sizeof(detail::Ziggurat::Layer));
  ziggurat_ = card::Memory(*card_, sizeof table.layer + sizeof table.height);
  card_->copy_in(ziggurat_.as<void>(), table.layer.data(), sizeof table.layer);
  card_->copy_in(ziggurat_.as<char>() + sizeof table.layer, table.height.data(),
                 sizeof table.height);

  columns_ = Columns::of(data, card_, n_slots_);
}

CardBackend::~CardBackend() = default;

card::Memory& CardBackend::at_least(card::Memory& memory, std::size_t bytes) {
  if (memory.bytes() < bytes) {
    memory = card::Memory();
    memory = card::Memory(*card_, bytes);
  }
  return memory;
}

// ---- rows between the two memories -------------------------------------------------------------

void CardBackend::attach(const HostRows& rows) {
  rows_ = rows;
  const auto n_slots = static_cast<std::size_t>(n_slots_);
  const auto n_trees = static_cast<std::size_t>(rows.n_trees);
  code_ = card::Memory(*card_, n_trees * n_slots);
  right_ = card::Memory(*card_, n_trees * n_slots / 8);
  residual_ = card::Memory(*card_, n_slots * sizeof(float));
  target_ = card::Memory(*card_, n_slots * sizeof(double));
  // All rows have code 0: one column of zeros for all trees.
  at_least(scratch_, static_cast<std::size_t>(n_padded_) * 8);
  card_->clear(scratch_.as<void>(), static_cast<std::size_t>(n_rows_));
  card_->order(
      {code_.as<void>(), scratch_.as<void>(), n_slots_, n_rows_, 0, n_slots_, 1, 0, kPaddingCode},
      n_blocks_, static_cast<int>(n_trees));
}

void CardBackend::to_slots(const void* from, std::int64_t size, card::Memory& to) {
  at_least(scratch_, static_cast<std::size_t>(n_padded_ * 8));
  card_->copy_in(scratch_.as<void>(), from, static_cast<std::size_t>(n_rows_ * size));
  card_->order({to.as<void>(), scratch_.as<void>(), n_slots_, n_rows_, 0, 0,
                static_cast<std::int32_t>(size), 0, 0},
               n_blocks_, 1);
}

void CardBackend::to_rows(const card::Memory& from, std::int64_t size, void* to) {
  at_least(scratch_, static_cast<std::size_t>(n_padded_ * 8));
  card_->order({scratch_.as<void>(), from.as<void>(), n_slots_, n_rows_, 0, 0,
                static_cast<std::int32_t>(size), 1, 0},
               n_blocks_, 1);
  card_->copy_out(to, scratch_.as<void>(), static_cast<std::size_t>(n_rows_ * size));
}

void CardBackend::send_rows(const float* weight) {
  if (!host_is_newer_ && weight == weight_at_) return;
  if (host_is_newer_) {
    to_slots(rows_.residual, sizeof(float), residual_);
    to_slots(rows_.target, sizeof(double), target_);
  }
  if (weight != nullptr && !(OBART_BUG(card_weights_stale) && weight == weight_at_)) {
    at_least(weight_, static_cast<std::size_t>(n_slots_) * sizeof(float));
    to_slots(weight, sizeof(float), weight_);
  }
  weight_at_ = weight;
  host_is_newer_ = false;
  card_is_newer_ = false;
}

const float* CardBackend::send_weight(const float* weight) {
  send_rows(weight);
  return weight != nullptr ? weight_.as<float>() : nullptr;
}

void CardBackend::fetch_rows() {
  if (!card_is_newer_ || OBART_BUG(card_residual_not_fetched)) return;
  to_rows(residual_, sizeof(float), rows_.residual);
  card_is_newer_ = false;
}

void CardBackend::fetch_codes() {
  const card::Memory& scratch = at_least(scratch_, static_cast<std::size_t>(n_padded_ * 8));
  for (std::int64_t m = 0; m < rows_.n_trees; ++m) {
    card_->order({scratch.as<void>(), code_.as<std::uint8_t>() + m * n_slots_, n_slots_, n_padded_,
                  0, 0, 1, 1, 0},
                 n_blocks_, 1);
    card_->copy_out(rows_.code + m * n_padded_, scratch.as<void>(),
                    static_cast<std::size_t>(n_padded_));
  }
}

void CardBackend::send_codes(const std::uint8_t* code, std::int64_t m) {
  const card::Memory& scratch = at_least(scratch_, static_cast<std::size_t>(n_padded_ * 8));
  card_->copy_in(scratch.as<void>(), code, static_cast<std::size_t>(n_rows_));
  card_->order({code_.as<std::uint8_t>() + m * n_slots_, scratch.as<void>(), n_slots_, n_rows_, 0,
                0, 1, 0, kPaddingCode},
               n_blocks_, 1);
}

// ---- a sweep -----------------------------------------------------------------------------------

void CardBackend::route(std::span<const RouteTask> tasks, const std::atomic<bool>*,
                        RightCounts* counts) {
  if (tasks.empty()) return;
  std::vector<card::Rule> rules;
  std::vector<card::Term> terms;
  std::vector<std::uint32_t> words;
  const std::int64_t stride = data_.p_cont() > 1 ? data_.cont(1) - data_.cont(0) : 1;
  for (const RouteTask& task : tasks) {
    card::Rule rule{};
    rule.cut = task.cut;
    rule.tree = task.tree;
    rule.is_categorical = task.is_categorical ? 1 : 0;
    rule.missing_right = task.missing_right ? 1 : 0;
    rule.left_code = task.left_code;
    rule.right_code = task.right_code;
    if (task.is_categorical) {
      rule.first = static_cast<std::uint32_t>(words.size());
      rule.column = static_cast<std::uint32_t>(in_elements(task.column, data_.cat(0), n_padded_));
      words.insert(words.end(), task.words, task.words + task.n_words);
    } else {
      rule.first = static_cast<std::uint32_t>(terms.size());
      rule.n_terms = task.n_terms;
      for (std::uint32_t k = 0; k < task.n_terms; ++k)
        terms.push_back(
            {static_cast<std::uint32_t>(in_elements(task.terms[k].column, data_.cont(0), stride)),
             task.terms[k].value});
    }
    rules.push_back(rule);
  }
  counts_.assign(2 * tasks.size(), 0);
  Packet packet(packet_);
  const std::size_t counts_at = packet.add(counts_.data(), counts_.size());
  const std::size_t rules_at = packet.add(rules.data(), rules.size());
  const std::size_t terms_at = packet.add(terms.data(), terms.size());
  const std::size_t words_at = packet.add(words.data(), words.size());
  char* inbox = at_least(inbox_, packet.size()).as<char>();
  card_->copy_in(inbox, packet.data(), packet.size());
  card::RouteArgs args{};
  args.cont = columns_->cont.as<float>();
  args.cat = columns_->cat.as<std::uint32_t>();
  args.code = code_.as<std::uint8_t>();
  args.right = right_.as<std::uint64_t>();
  args.counts = reinterpret_cast<std::uint32_t*>(inbox + counts_at);
  args.rules = reinterpret_cast<const card::Rule*>(inbox + rules_at);
  args.terms = reinterpret_cast<const card::Term*>(inbox + terms_at);
  args.words = reinterpret_cast<const std::uint32_t*>(inbox + words_at);
  args.n_slots = n_slots_;
  args.n_rules = static_cast<std::int32_t>(rules.size());
  args.rules_together = kRulesTogether;
  card_->route(args, n_blocks_, (args.n_rules + kRulesTogether - 1) / kRulesTogether);
  card_->copy_out(counts_.data(), args.counts, counts_.size() * sizeof(std::uint32_t));
  for (std::size_t k = 0; k < tasks.size(); ++k) counts[k] = {counts_[2 * k], counts_[2 * k + 1]};
}

void CardBackend::rebuild(std::span<const RebuildTask> trees, RightCounts* counts) {
  // This machine's codes may never have been fetched: their padding must not count as rows.
  for (const RebuildTask& tree : trees)
    std::fill(tree.code + n_rows_, tree.code + n_padded_, kPaddingCode);
  host_.rebuild(trees, counts);
  for (const RebuildTask& tree : trees)
    send_codes(tree.code, in_elements<std::uint8_t>(tree.code, rows_.code, n_padded_));
}

// As few blocks of rows to a part as the card can hold at once, a power of two.
void CardBackend::plan_parts(std::int32_t most_values) {
  if (most_values <= most_values_ && n_parts_ > 0) return;
  most_values_ = std::max<std::int32_t>(most_values, 32);
  const int alone = card_->most_parts(card::update_bytes(most_values_, 0), card::kMostWarps);
  for (blocks_per_part_ = 1;; blocks_per_part_ *= 2) {
    n_parts_ = (n_blocks_ + blocks_per_part_ - 1) / blocks_per_part_;
    if (n_parts_ > kMostExchanged) continue;
    // Many warps to a part where the card is this chain's alone.
    n_warps_ = n_parts_ <= alone ? card::kMostWarps : card::kMostWarps / 2;
    shared_bytes_ = card::update_bytes(most_values_, blocks_per_part_);
    in_shared_ = n_parts_ <= card_->most_parts(shared_bytes_, n_warps_);
    if (!in_shared_) shared_bytes_ = card::update_bytes(most_values_, 0);
    const int most = card_->most_parts(shared_bytes_, n_warps_);
    if (most == 0) throw card::CardError("the card has too little shared memory");
    if (n_parts_ <= most) break;
  }
  if (blocks_per_part_ > n_warps_ << card::kPairLevels)
    throw card::CardError("the table has too many rows for the card; use device=\"cpu\"");
  exchange_ = card::Memory();
  const auto bytes = static_cast<std::size_t>(card::exchange_words(n_parts_, most_values_)) *
                     sizeof(std::uint64_t);
  exchange_ = card::Memory(*card_, bytes);
  card_->clear(exchange_.as<void>(), bytes);
  next_tag_ = 1;
}

void CardBackend::update_trees(const TreesTask& task) {
  const float* weight = send_weight(task.weight);
  int most_cells = 0;
  const auto n_trees = static_cast<std::size_t>(task.n_trees);
  for (std::size_t m = 0; m < n_trees; ++m)
    most_cells = std::max(most_cells, task.trees[m].n_cells());
  plan_parts(most_cells * (weight != nullptr ? 2 : 1));

  const auto n_outputs = static_cast<std::size_t>(task.n_outputs);
  Packet packet(packet_);
  const std::size_t rng_at = packet.add(task.rng, 4);
  const std::size_t trees_at = packet.add(task.trees, n_trees);
  const std::size_t rows_at = packet.add(task.n_rows, n_outputs);
  const std::size_t outputs_at = packet.add(task.outputs, n_outputs);
  char* inbox = at_least(inbox_, packet.size()).as<char>();
  card_->copy_in(inbox, packet.data(), packet.size());
  // What comes back lies in one piece: the generator, the outputs, the decisions.
  const std::size_t answer = 4 * sizeof(std::uint64_t) + n_outputs * sizeof(float) + n_trees;
  char* outbox = at_least(outbox_, answer + 16).as<char>();

  card::UpdateArgs args{};
  args.code = code_.as<std::uint8_t>();
  args.right = right_.as<std::uint64_t>();
  args.residual = residual_.as<float>();
  args.weight = weight;
  args.n_slots = n_slots_;
  args.n_parts = n_parts_;
  args.blocks_per_part = blocks_per_part_;
  args.n_warps = n_warps_;
  args.in_shared = in_shared_ ? 1 : 0;
  args.most_values = most_values_;
  args.n_trees = task.n_trees;
  args.first_tag = next_tag_;
  args.trees = reinterpret_cast<const TreeTask*>(inbox + trees_at);
  args.n_rows = reinterpret_cast<const double*>(inbox + rows_at);
  args.outputs = reinterpret_cast<const float*>(inbox + outputs_at);
  args.leaves = task.leaves;
  args.rng = reinterpret_cast<std::uint64_t*>(inbox + rng_at);
  args.rng_out = reinterpret_cast<std::uint64_t*>(outbox);
  args.ziggurat = ziggurat_.as<card::ZigguratLayer>();
  args.heights =
      reinterpret_cast<const double*>(ziggurat_.as<char>() + sizeof detail::kZiggurat.layer);
  args.exchange = exchange_.as<std::uint64_t>();
  args.new_outputs = reinterpret_cast<float*>(outbox + 4 * sizeof(std::uint64_t));
  args.accepted = reinterpret_cast<std::uint8_t*>(outbox + 4 * sizeof(std::uint64_t) +
                                                  n_outputs * sizeof(float));
  card_->update(args, shared_bytes_);
  next_tag_ += static_cast<std::uint32_t>(task.n_trees);
  answer_.resize(answer);
  card_->copy_out(answer_.data(), outbox, answer);
  card_is_newer_ = true;
  const unsigned char* from = answer_.data();
  std::memcpy(task.rng, from, 4 * sizeof(std::uint64_t));
  from += 4 * sizeof(std::uint64_t);
  std::memcpy(task.new_outputs, from, n_outputs * sizeof(float));
  std::memcpy(task.accepted, from + n_outputs * sizeof(float), n_trees);
}

// ---- other work on rows ------------------------------------------------------------------------

void CardBackend::refresh(const RefreshTask& task, const std::atomic<bool>*) {
  if (task.combine != Combine::add) throw std::logic_error("a card has ensembles of sums only");
  send_rows(weight_at_);
  std::vector<card::TreeTerms> trees;
  std::vector<float> terms;
  for (const TreeTerms& tree : task.trees) {
    const int n = tree.wide ? kTableSize : kNarrowCodes + 1;
    trees.push_back({n, static_cast<std::int32_t>(terms.size())});
    terms.insert(terms.end(), tree.terms, tree.terms + n);
  }
  Packet packet(packet_);
  const std::size_t trees_at = packet.add(trees.data(), trees.size());
  const std::size_t terms_at = packet.add(terms.data(), terms.size());
  char* inbox = at_least(inbox_, packet.size()).as<char>();
  card_->copy_in(inbox, packet.data(), packet.size());
  card_->refresh({residual_.as<float>(), target_.as<double>(), code_.as<std::uint8_t>(),
                  reinterpret_cast<const card::TreeTerms*>(inbox + trees_at),
                  reinterpret_cast<const float*>(inbox + terms_at), n_slots_, n_rows_,
                  static_cast<std::int32_t>(trees.size())},
                 n_blocks_);
  card_is_newer_ = true;
}

void CardBackend::scale_fit(const double*, double factor, float*) {
  send_rows(weight_at_);
  card_->scale({residual_.as<float>(), target_.as<double>(), n_slots_, n_rows_, factor}, n_blocks_);
  card_is_newer_ = true;
}

void CardBackend::sum_blocks(const FitRows& rows, bool squares, int width) {
  const float* weight = send_weight(rows.weight);
  const auto n = static_cast<std::size_t>(n_blocks_ * width);
  sums_.resize(n);
  double* sums = at_least(outbox_, n * sizeof(double)).as<double>();
  card_->sum({residual_.as<float>(), weight, squares ? nullptr : target_.as<double>(), sums},
             n_blocks_);
  card_->copy_out(sums_.data(), sums, n * sizeof(double));
  add_in_pairs(sums_.data(), 0, n_blocks_, width);
}

double CardBackend::weighted_squares(const FitRows& rows) {
  sum_blocks(rows, true, 1);
  return sums_[0];
}

FitSums CardBackend::fit_sums(const FitRows& rows) {
  sum_blocks(rows, false, 2);
  return {sums_[0], sums_[1]};
}

}  // namespace obart
