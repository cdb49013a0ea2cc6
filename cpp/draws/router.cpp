#include "draws/router.h"

#include <algorithm>
#include <stdexcept>

#include "backend/cpu/soft_kernels.h"

namespace obart {
namespace {

constexpr std::int64_t kRouteGroups = kRouteRows / kGroupRows;

bool replaces(const OtherColumn* other, RuleKind kind, std::uint32_t column) {
  return other != nullptr && other->kind == kind && other->column == column;
}

}  // namespace

void require_same_columns(const Draws& draws, const Data& data) {
  if (draws.p_cont() != data.p_cont() || draws.n_levels() != data.n_levels())
    throw std::invalid_argument("predict: the data have other columns than the draws");
}

Router::Router(const Draws& draws, const Data& data)
    : draws_(draws), program_(draws.program()), data_(data), kernels_(cpu_kernels(chosen_simd())) {}

void Router::start(std::int64_t block) {
  row_ = block * kRouteRows;
  n_groups_ = std::min(kRouteGroups, (data_.n_padded() - row_) / kGroupRows);
  n_rows_ = std::min(kRouteRows, data_.n_rows() - row_);
}

RouteTask Router::describe(const Step& step, const OtherColumn* other) {
  const DrawArrays& a = draws_.arrays();
  RouteTask task{};
  task.is_categorical = step.kind == RuleKind::categorical;
  task.missing_right = step.missing_right;
  task.cut = step.cut;
  if (step.kind == RuleKind::continuous) {
    terms_.clear();
    for (std::uint64_t k = step.first; k < step.first + step.n_items; ++k) {
      const std::uint32_t column = a.phi_column[k];
      const bool is_other = replaces(other, RuleKind::continuous, column);
      terms_.push_back({is_other ? other->values : data_.cont(column) + row_, a.phi_value[k]});
    }
    task.terms = terms_.data();
    task.n_terms = step.n_items;
  } else {
    const bool is_other = replaces(other, RuleKind::categorical, step.column);
    task.column = is_other ? other->codes : data_.cat(step.column) + row_;
    task.words = program_->words(step);
    task.n_words = step.n_items;
  }
  return task;
}

void Router::route(std::uint32_t structure, std::uint8_t* code, const OtherColumn* other) {
  std::fill(code, code + kRouteRows, std::uint8_t{0});
  std::uint64_t right[kRouteGroups];
  RightCounts counts;
  for (const Step& step : program_->steps(structure)) {
    RouteTask task = describe(step, other);
    task.code = code;
    task.left_code = task.right_code = step.left_code;
    task.right = right;
    kernels_.route(task, 0, n_groups_, counts);
    kernels_.assign(code, right, n_groups_, step.right_code);
  }
}

// The share of a node stands where that of its first leaf will be.
void Router::share(std::uint32_t structure, float* shares, const OtherColumn* other) {
  const SoftKernels& kernels = soft_kernels();
  const std::int64_t n = n_groups_ * kGroupRows;
  std::fill_n(shares, n, 1.0F);
  const float* inverse_width = program_->inverse_widths(structure);
  for (const Step& step : program_->steps(structure)) {
    float* const left = shares + step.left_code * kRouteRows;
    const float inverse = inverse_width == nullptr ? 0.0F : *inverse_width++;
    const SoftGate gate{describe(step, other), inverse, 0, 0, 0};
    kernels.divide(gate, 0, n, left, left, shares + step.right_code * kRouteRows);
  }
}

void Router::accumulate_shares(float* f, const float* shares, std::span<const float> table) const {
  SharedOutput terms[kTableSize];
  for (std::size_t k = 0; k < table.size(); ++k, shares += kRouteRows)
    terms[k] = {shares, table[k]};
  soft_kernels().add(f, f, {terms, table.size()}, n_groups_ * kGroupRows);
}

// ---- where rows are ----------------------------------------------------------------------------

void TreeRows::find(Router& router, std::uint32_t structure, std::size_t n_leaves,
                    const OtherColumn* other) {
  if (is_soft_) {
    const std::size_t size = n_leaves * static_cast<std::size_t>(kRouteRows);
    if (shares_.size() < size) shares_ = AlignedBuffer<float>(size);
    router.share(structure, shares_.data(), other);
  } else {
    router.route(structure, code_.data(), other);
  }
}

void TreeRows::accumulate(const Router& router, const float* table, std::size_t n_leaves,
                          float* f) const {
  if (is_soft_)
    router.accumulate_shares(f, shares_.data(), {table, n_leaves});
  else
    router.accumulate(f, code_.data(), table, n_leaves);
}

}  // namespace obart
