// The rows on a graphics card: columns once for all chains, codes, residual and target of a chain.
// A sweep sends the proposals and brings back decisions and outputs; the rows stay where they are.
#pragma once

#include <memory>
#include <vector>

#include "backend/backend.h"
#include "backend/card/card.h"
#include "backend/cpu/cpu_backend.h"
#include "model/data.h"

namespace obart {

class CardBackend final : public TreesBackend {
 public:
  CardBackend(const Data& data, std::shared_ptr<card::Card> card);
  ~CardBackend() override;

  void attach(const HostRows& rows) override;
  void route(std::span<const RouteTask> tasks, const std::atomic<bool>* stop,
             RightCounts* counts) override;
  void rebuild(std::span<const RebuildTask> trees, RightCounts* counts) override;
  void update_trees(const TreesTask& task) override;
  void refresh(const RefreshTask& task, const std::atomic<bool>* stop) override;
  void scale_fit(const double* target, double factor, float* residual) override;
  double weighted_squares(const FitRows& rows) override;
  FitSums fit_sums(const FitRows& rows) override;
  void fetch_rows() override;
  void rows_changed() override { host_is_newer_ = true; }
  void fetch_codes() override;

 private:
  struct Columns;
  class Packet;

  void send_rows(const float* weight);
  const float* send_weight(const float* weight);
  void to_slots(const void* from, std::int64_t size, card::Memory& to);
  void to_rows(const card::Memory& from, std::int64_t size, void* to);
  void send_codes(const std::uint8_t* code, std::int64_t m);
  void plan_parts(std::int32_t most_values);
  void sum_blocks(const FitRows& rows, bool squares, int width);
  card::Memory& at_least(card::Memory& memory, std::size_t bytes);

  const Data data_;
  std::shared_ptr<card::Card> card_;
  CpuBackend host_;  // for trees that are put in from outside
  std::shared_ptr<Columns> columns_;
  std::int64_t n_rows_, n_padded_, n_slots_;
  int n_blocks_;
  HostRows rows_{};
  bool host_is_newer_ = true, card_is_newer_ = false;
  const float* weight_at_ = nullptr;  // the host's, of the card's weights
  card::Memory code_, right_, residual_, target_, weight_;
  card::Memory inbox_, outbox_, exchange_, scratch_, ziggurat_;
  std::vector<std::uint32_t> counts_;
  std::vector<double> sums_;
  std::vector<unsigned char> packet_, answer_;
  std::int32_t most_values_ = 0, n_parts_ = 0, blocks_per_part_ = 0, n_warps_ = 0;
  bool in_shared_ = false;
  std::int64_t shared_bytes_ = 0;
  std::uint32_t next_tag_ = 1;
};

}  // namespace obart
