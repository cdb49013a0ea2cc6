#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "backend/card/card.h"
#include "backend/card/route_kernel.h"
#include "backend/card/row_kernels.h"
#include "backend/card/update_kernel.h"

namespace obart::card {
namespace {

constexpr std::align_val_t kCardAlignment{64};
constexpr int kMostParts = 6;  // odd enough for tests to see parts of different sizes

class PlainCard final : public Card {
 public:
  std::string name() const override { return "plain"; }
  void* allocate(std::size_t bytes) override { return ::operator new(bytes + 1, kCardAlignment); }
  void release(void* memory) noexcept override { ::operator delete(memory, kCardAlignment); }
  void copy_in(void* to, const void* from, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  void copy_out(void* to, const void* from, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  void clear(void* memory, std::size_t bytes) override { std::memset(memory, 0, bytes); }
  int most_parts(std::int64_t shared_bytes, int) const override {
    return shared_bytes <= (1 << 20) ? kMostParts : 0;
  }

  void route(const RouteArgs& args, int n_blocks, int n_groups) override {
    each(n_blocks, n_groups, kRouteWarps, [&](const ThreadBlock& b) { route_block(args, b); });
  }
  // Parts wait for each other's sums, so they take turns, step by step.
  void update(const UpdateArgs& args, std::int64_t shared_bytes) override {
    const auto n = static_cast<std::size_t>(args.n_parts);
    const auto size = static_cast<std::size_t>((shared_bytes + 63) / 64 * 64);
    std::vector<double> shared((n * size + 7) / 8);
    const auto each_part = [&](const auto& work) {
      for (int part = 0; part < args.n_parts; ++part) {
        char* memory =
            reinterpret_cast<char*>(shared.data()) + static_cast<std::size_t>(part) * size;
        work(lay_out(args, part, memory), ThreadBlock{part, 0, args.n_warps});
      }
    };
    each_part([&](const UpdateMemory& memory, const ThreadBlock& threads) {
      new (memory.fixed) UpdateShared;
      begin_update(args, memory, threads);
    });
    for (int m = 0; m < args.n_trees; ++m) {
      each_part([&](const UpdateMemory& memory, const ThreadBlock& threads) {
        sum_part(args, memory, m, threads);
      });
      each_part([&](const UpdateMemory& memory, const ThreadBlock& threads) {
        total_values(args, memory, m, threads);
      });
      each_part([&](const UpdateMemory& memory, const ThreadBlock& threads) {
        decide_and_change(args, memory, m, threads);
      });
    }
    each_part([&](const UpdateMemory& memory, const ThreadBlock& threads) {
      end_update(args, memory, threads);
    });
  }
  void refresh(const RefreshArgs& args, int n_blocks) override {
    each(n_blocks, 1, kRowWarps, [&](const ThreadBlock& b) { refresh_block(args, b); });
  }
  void scale(const ScaleArgs& args, int n_blocks) override {
    each(n_blocks, 1, kRowWarps, [&](const ThreadBlock& b) { scale_block(args, b); });
  }
  void sum(const SumArgs& args, int n_blocks) override {
    each(n_blocks, 1, 1, [&](const ThreadBlock& b) { sum_block(args, b); });
  }
  void order(const OrderArgs& args, int n_blocks, int n_columns) override {
    each(n_blocks, n_columns, kRowWarps, [&](const ThreadBlock& b) { order_block(args, b); });
  }

 private:
  static void sum_part(const UpdateArgs& args, const UpdateMemory& memory, int m,
                       const ThreadBlock& threads) {
    const bool many = memory.shares.has_many();
    if (args.weight == nullptr)
      return many ? sum_and_send<false, true>(args, memory, m, threads)
                  : sum_and_send<false, false>(args, memory, m, threads);
    return many ? sum_and_send<true, true>(args, memory, m, threads)
                : sum_and_send<true, false>(args, memory, m, threads);
  }
  template <class Work>
  static void each(int n, int n_rows, int n_warps, const Work& work) {
    for (int row = 0; row < n_rows; ++row)
      for (int index = 0; index < n; ++index) work(ThreadBlock{index, row, n_warps});
  }
};

}  // namespace

std::unique_ptr<Card> make_plain_card() { return std::make_unique<PlainCard>(); }

}  // namespace obart::card
