// The kernels of soft trees against plain loops.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "backend/cpu/soft_kernels.h"
#include "base/blocks.h"
#include "base/soft_share.h"
#include "kernel_checks.h"
#include "model/data.h"

namespace obart::testing {
namespace {

// Padding rows have no share.
std::vector<float> random_shares(Rng& rng, std::size_t n_rows, std::size_t n_padding) {
  std::vector<float> values(n_rows);
  for (float& value : values)
    value =
        rng.below(4) == 0 ? static_cast<float>(rng.below(2)) : static_cast<float>(rng.uniform());
  std::fill(values.end() - static_cast<std::ptrdiff_t>(n_padding), values.end(), 0.0F);
  return values;
}

struct Shares {
  std::size_t n_rows, n_padding;
  std::vector<std::vector<float>> column;

  Shares(Rng& rng, std::int64_t n_groups, int n_columns)
      : n_rows(static_cast<std::size_t>(n_groups * kGroupRows)), n_padding(rng.below(64)) {
    for (int k = 0; k < n_columns; ++k) column.push_back(random_shares(rng, n_rows, n_padding));
  }
};

// ---- products ----------------------------------------------------------------------------------

struct Multiplied : Shares {
  std::vector<float> residual, weight;
  std::int64_t n_first, left = 0, right = 0;
  std::vector<double> sums;

  Multiplied(Rng& rng, std::int64_t n_groups, int n_columns) : Shares(rng, n_groups, n_columns) {
    for (std::size_t i = 0; i < n_rows; ++i) residual.push_back(static_cast<float>(rng.normal()));
    if (rng.below(2) == 0)
      for (std::size_t i = 0; i < n_rows; ++i)
        weight.push_back(static_cast<float>(std::abs(rng.normal())));
    n_first = n_columns;
    if (n_columns >= 4 && rng.below(2) == 0) {
      n_first -= 2;
      const auto n = static_cast<std::uint32_t>(n_first);
      left = rng.below(n);
      right = (left + 1 + rng.below(n - 1)) % n_first;
    }
    sums.assign(static_cast<std::size_t>(count_products(n_columns)), -1.0);
  }

  void run(const SoftKernels& kernels) {
    std::vector<const float*> at;
    for (const std::vector<float>& one : column) at.push_back(one.data());
    const auto n = static_cast<std::int64_t>(column.size());
    kernels.products({at.data(), n, n_first, left, right}, residual.data(),
                     weight.empty() ? nullptr : weight.data(), static_cast<std::int64_t>(n_rows),
                     sums.data());
    for_each([&](double& sum, const auto&, const auto&, bool is_needed) {
      if (!is_needed) sum = 0.0;
    });
  }

  void run_plainly() {
    for_each([&](double& sum, const auto& a, const auto& b, bool is_needed) {
      sum = is_needed ? dot(a, b) : 0.0;
    });
  }

  bool operator==(const Multiplied& other) const { return same(sums, other.sums); }

 private:
  template <class Visit>
  void for_each(const Visit& visit) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < column.size(); ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        const auto other = static_cast<std::int64_t>(j);
        const bool is_apart =
            static_cast<std::int64_t>(i) >= n_first && (other == left || other == right);
        visit(sums[at++], column[i], column[j], !is_apart);
      }
    for (const std::vector<float>& one : column) visit(sums[at++], one, residual, true);
  }

  // Row i in lane i mod 8.
  double dot(const std::vector<float>& a, const std::vector<float>& b) const {
    double lane[8] = {};
    for (std::size_t i = 0; i < n_rows; ++i) {
      const double w = weight.empty() ? 1.0 : static_cast<double>(weight[i]);
      lane[i % 8] += w * static_cast<double>(a[i]) * static_cast<double>(b[i]);
    }
    for (int width = 4; width >= 1; width /= 2)
      for (int i = 0; i < width; ++i) lane[i] += lane[i + width];
    return lane[0];
  }
};

// ---- shares ------------------------------------------------------------------------------------

struct Divided : Shares {
  static constexpr std::int64_t kFirstRow = kGroupRows;
  std::vector<std::vector<float>> x;
  std::vector<RouteTask::Term> terms;
  std::vector<std::uint32_t> levels, words;
  std::vector<float> left, right;
  bool in_place;
  SoftGate gate{};

  Divided(Rng& rng, std::int64_t n_groups, int n_terms)
      : Shares(rng, n_groups, 1), left(n_rows), right(n_rows), in_place(rng.below(2) == 0) {
    RouteTask& rule = gate.rule;
    rule.is_categorical = rng.below(4) == 0;
    rule.missing_right = rng.below(2) == 0;
    rule.cut = static_cast<float>(0.3 * rng.normal());
    gate.inverse_width = rng.below(4) == 0 ? 0.0F : static_cast<float>(det_exp(rng.normal()));
    rule.n_terms = static_cast<std::uint32_t>(n_terms - 1);
    const std::size_t n_all = n_rows + static_cast<std::size_t>(kFirstRow);
    for (std::uint32_t k = 0; k < rule.n_terms; ++k) {
      x.emplace_back();
      for (std::size_t i = 0; i < n_all; ++i)
        x.back().push_back(rng.below(30) == 0 ? std::numeric_limits<float>::quiet_NaN()
                                              : static_cast<float>(rng.normal()));
      terms.push_back({nullptr, static_cast<float>(rng.normal())});
    }
    const std::uint32_t n_levels = 1 + rng.below(rng.below(2) == 0 ? 30 : 100);
    for (std::size_t i = 0; i < n_all; ++i) levels.push_back(rng.below(n_levels + 1));
    for (std::uint32_t k = 0; k < level_words(n_levels); ++k) words.push_back(rng.below(~0U));
    rule.n_words = static_cast<std::uint32_t>(words.size());
  }

  void run(const SoftKernels& kernels) {
    for (std::size_t k = 0; k < terms.size(); ++k) terms[k].column = x[k].data();
    gate.rule.terms = terms.data();
    gate.rule.column = levels.data();
    gate.rule.words = words.data();
    if (in_place) left = column[0];
    kernels.divide(gate, kFirstRow, static_cast<std::int64_t>(n_rows),
                   in_place ? left.data() : column[0].data(), left.data(), right.data());
  }

  void run_plainly() {
    for (std::size_t i = 0; i < n_rows; ++i) {
      left[i] = column[0][i] * share(i + static_cast<std::size_t>(kFirstRow));
      right[i] = column[0][i] - left[i];
    }
  }

  float share(std::size_t i) const {
    const RouteTask& rule = gate.rule;
    if (rule.is_categorical)
      return ((words[levels[i] / 32] >> (levels[i] % 32)) & 1U) != 0 ? 0.0F : 1.0F;
    if (terms.empty()) return 1.0F;
    float score = terms[0].value * x[0][i];
    for (std::size_t k = 1; k < terms.size(); ++k) score += terms[k].value * x[k][i];
    if (std::isnan(score)) return rule.missing_right ? 0.0F : 1.0F;
    if (gate.inverse_width > 0.0F) return share_at((rule.cut - score) * gate.inverse_width);
    return score < rule.cut ? 1.0F : 0.0F;
  }

  bool operator==(const Divided& other) const {
    return same(left, other.left) && same(right, other.right);
  }
};

// ---- outputs -----------------------------------------------------------------------------------

struct Added : Shares {
  std::vector<float> output, from, to;
  std::vector<double> sum;
  bool in_place;

  Added(Rng& rng, std::int64_t n_groups, int n_columns)
      : Shares(rng, n_groups, n_columns), to(n_rows), sum(n_rows), in_place(rng.below(2) == 0) {
    for (int k = 0; k < n_columns; ++k) output.push_back(static_cast<float>(rng.normal()));
    for (std::size_t i = 0; i < n_rows; ++i) from.push_back(static_cast<float>(rng.normal()));
  }

  void run(const SoftKernels& kernels) {
    const auto n = static_cast<std::int64_t>(n_rows);
    std::vector<SharedOutput> terms;
    for (std::size_t k = 0; k < column.size(); ++k) terms.push_back({column[k].data(), output[k]});
    if (in_place) to = from;
    kernels.add(to.data(), in_place ? to.data() : from.data(), terms, n);
    for (const SharedOutput& term : terms)
      kernels.add_double(sum.data(), term.share, term.output, n);
  }

  void run_plainly() {
    for (std::size_t i = 0; i < n_rows; ++i) {
      to[i] = from[i];
      for (std::size_t k = 0; k < column.size(); ++k) {
        to[i] += output[k] * column[k][i];
        sum[i] += static_cast<double>(output[k]) * static_cast<double>(column[k][i]);
      }
    }
  }

  bool operator==(const Added& other) const { return same(to, other.to) && same(sum, other.sum); }
};

template <class Task>
void check(Rng& rng, std::int64_t n_groups, int size, KernelChecks& found) {
  const auto kernels_of = [](Simd level) -> const SoftKernels& { return soft_kernels(level); };
  check_task<Task>(rng, n_groups, size, kernels_of, found);
}

}  // namespace

void check_soft_kernels(Rng& rng, KernelChecks& found) {
  for (const std::int64_t n_groups : {1, 5, 16})
    for (int repeat = 0; repeat < 8; ++repeat) {
      for (int n = 1; n <= 20; ++n) check<Multiplied>(rng, n_groups, n, found);
      for (int n = 1; n <= 8; ++n) check<Divided>(rng, n_groups, n, found);
      for (int n = 1; n <= 8; ++n) check<Added>(rng, n_groups, n, found);
    }
}

}  // namespace obart::testing
