// The rows of soft trees on the CPU.
#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/soft_kernels.h"

namespace obart {

// More of them than were ever needed lie further apart. The root's are written once, the others
// anew by each task. Padding rows have no share at all.
void CpuBackend::reserve_shares(std::int64_t n_columns) {
  if (n_columns > n_soft_columns_) {
    const std::int64_t n_reserved = std::max(n_columns, 2 * n_soft_columns_);
    soft_shares_ =
        AlignedBuffer<float>(static_cast<std::size_t>(n_blocks_ * n_reserved * kBlockRows));
    n_soft_columns_ = n_reserved;  // now that there is memory for them
    for (std::int64_t block = 0; block < n_blocks_; ++block)
      std::fill_n(shares_of(block, 0), std::min(kBlockRows, n_rows_ - block * kBlockRows), 1.0F);
  }
  const auto n_padded = static_cast<std::size_t>(n_groups_ * kGroupRows);
  if (others_left_.size() < n_padded) others_left_ = AlignedBuffer<float>(n_padded);
}

void CpuBackend::divide_block(std::span<const SoftGate> gates, std::int64_t block) {
  const SoftKernels& kernels = soft_kernels();
  const std::int64_t row = block * kBlockRows;
  const std::int64_t n = rows_of_block(block);
  for (const SoftGate& gate : gates)
    kernels.divide(gate, row, n, shares_of(block, gate.from), shares_of(block, gate.left),
                   shares_of(block, gate.right));
}

void CpuBackend::add_terms(float* to, const float* from, std::span<const SoftTerm> terms,
                           float sign, std::int64_t block) {
  SharedOutput shared[kTableSize + 1];
  for (std::size_t k = 0; k < terms.size(); ++k)
    shared[k] = {shares_of(block, terms[k].column), sign * terms[k].output};
  soft_kernels().add(to, from, {shared, terms.size()}, rows_of_block(block));
}

void CpuBackend::soft_sums_of_block(const SoftSumsTask& task, std::int64_t block) {
  const SoftKernels& kernels = soft_kernels();
  const std::int64_t row = block * kBlockRows;
  const std::int64_t n = rows_of_block(block);
  divide_block(task.tree.gates, block);
  float* const left = others_left_.data() + row;
  add_terms(left, task.residual + row, task.tree.terms, 1.0F, block);
  const auto n_basis = static_cast<std::int64_t>(task.basis.size());
  const float* columns[kTableSize + 2];
  for (std::size_t k = 0; k < task.basis.size(); ++k) columns[k] = shares_of(block, task.basis[k]);
  kernels.products({columns, n_basis, task.n_first, task.left, task.right}, left,
                   task.weight != nullptr ? task.weight + row : nullptr, n,
                   sums_.data() + block * count_products(n_basis));
}

const double* CpuBackend::soft_sums(const SoftSumsTask& task) {
  const std::int64_t width = count_products(static_cast<std::int64_t>(task.basis.size()));
  const auto n_sums = static_cast<std::size_t>(n_blocks_ * width);
  if (sums_.size() < n_sums) sums_.resize(n_sums);
  reserve_shares(task.n_columns);
  if (team_.size() == 1) {
    for (std::int64_t block = 0; block < n_blocks_; ++block) soft_sums_of_block(task, block);
    add_in_pairs(sums_.data(), 0, n_blocks_, width);
  } else {
    for_shares([this, &task, width](std::int64_t first, std::int64_t last) {
      for (std::int64_t block = first; block < last; ++block) soft_sums_of_block(task, block);
      shares_.add_own(sums_.data(), width, {first, last});
    });
    shares_.add_rest(sums_.data(), width);
  }
  return sums_.data();
}

void CpuBackend::soft_apply(std::span<const SoftTerm> terms, float* residual, bool is_last) {
  for_shares([&](std::int64_t first, std::int64_t last) {
    for (std::int64_t block = first; block < last; ++block) {
      const std::int64_t row = block * kBlockRows;
      add_terms(residual + row, others_left_.data() + row, terms, -1.0F, block);
    }
  });
  if (is_choosing_) note_pass(is_last);
}

void CpuBackend::soft_refresh(const SoftRefreshTask& task, const std::atomic<bool>* stop) {
  reserve_shares(task.n_columns);
  for_shares([&](std::int64_t first, std::int64_t last) {
    const SoftKernels& kernels = soft_kernels();
    double sum[kBlockRows];
    for (std::int64_t block = first; block < last; ++block) {
      if (stop != nullptr && stop->load(std::memory_order_relaxed)) return;
      const std::int64_t row = block * kBlockRows;
      const std::int64_t n = rows_of_block(block);
      const std::int64_t n_real = std::min(n, n_rows_ - row);
      std::fill_n(sum, n, 0.0);
      for (const SoftTree& tree : task.trees) {
        divide_block(tree.gates, block);
        for (const SoftTerm& term : tree.terms)
          kernels.add_double(sum, shares_of(block, term.column), term.output, n);
      }
      float* const residual = task.residual + row;
      for (std::int64_t i = 0; i < n_real; ++i)
        residual[i] = static_cast<float>(task.target[row + i] - sum[i]);
      std::fill(residual + n_real, residual + n, 0.0F);
    }
  });
}

}  // namespace obart
