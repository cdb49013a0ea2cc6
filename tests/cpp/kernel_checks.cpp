#include "kernel_checks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "backend/cpu/kernels.h"
#include "base/normal_kernels.h"
#include "model/data.h"

namespace obart::testing {
namespace {

constexpr std::uint8_t kAssigned = 177;

// Rows in clusters of equal codes half of the time, so that blocks lack some; a few padding rows.
std::vector<std::uint8_t> random_codes(Rng& rng, std::int64_t n_rows, std::uint32_t n_codes) {
  std::vector<std::uint8_t> code(static_cast<std::size_t>(n_rows));
  const bool clustered = rng.below(2) == 0;
  std::uint32_t current = rng.below(n_codes);
  for (std::uint8_t& c : code) {
    if (!clustered || rng.below(400) == 0) current = rng.below(n_codes);
    c = static_cast<std::uint8_t>(current);
  }
  std::fill(code.end() - static_cast<std::ptrdiff_t>(rng.below(64)), code.end(), kPaddingCode);
  return code;
}

std::vector<float> random_floats(Rng& rng, std::size_t n) {
  std::vector<float> values(n);
  for (float& value : values) value = static_cast<float>(rng.normal());
  return values;
}

bool bit(const std::vector<std::uint64_t>& bits, std::size_t row) {
  return ((bits[row / kGroupRows] >> (row % kGroupRows)) & 1U) != 0;
}

std::vector<CodeMask> codes_by_block(const std::vector<std::uint8_t>& code) {
  std::vector<CodeMask> masks;
  for (std::size_t row = 0; row < code.size(); row += kBlockRows) {
    CodeMask mask = 0;
    for (std::size_t i = row; i < std::min(row + kBlockRows, code.size()); ++i)
      mask |= code_bit(code[i]);
    masks.push_back(mask);
  }
  return masks;
}

// A rule's bits: only rows with one of two codes may go right.
std::vector<std::uint64_t> random_bits(Rng& rng, const std::vector<std::uint8_t>& code,
                                       std::uint8_t left, std::uint8_t right) {
  std::vector<std::uint64_t> bits(code.size() / kGroupRows);
  for (std::size_t i = 0; i < code.size(); ++i)
    if ((code[i] == left || code[i] == right) && rng.below(2) == 0)
      bits[i / kGroupRows] |= std::uint64_t{1} << (i % kGroupRows);
  return bits;
}

// ---- pass --------------------------------------------------------------------------------------

struct Passed {
  std::vector<float> residual, weight, left_delta, right_delta;
  std::vector<std::uint8_t> apply_code, sum_code, left_map, right_map;
  std::vector<std::uint64_t> apply_right, sum_right;
  std::vector<CodeMask> apply_present, sum_present;  // empty: not known
  CodeMask routed;
  std::vector<SumCell> cells;
  std::vector<double> sums, weights;
  bool with_apply, with_right, with_map;
  Combine combine;
  int apply_codes;

  Passed(Rng& rng, std::int64_t n_groups, int n_codes) {
    const std::int64_t n_rows = n_groups * kGroupRows;
    const auto codes = static_cast<std::uint32_t>(n_codes);
    residual = random_floats(rng, static_cast<std::size_t>(n_rows));
    if (rng.below(3) == 0) weight = random_floats(rng, static_cast<std::size_t>(n_rows));
    apply_codes = n_codes;
    with_apply = rng.below(4) != 0;
    with_right = rng.below(2) == 0;
    with_map = rng.below(2) == 0;
    combine = rng.below(4) == 0 ? Combine::multiply : Combine::add;
    apply_code = random_codes(rng, n_rows, codes);
    const auto first = static_cast<std::uint8_t>(rng.below(2) == 0 ? codes - 1 : rng.below(codes));
    const auto second = static_cast<std::uint8_t>(rng.below(codes));
    apply_right = random_bits(rng, apply_code, first, second);
    left_delta = random_floats(rng, kTableSize);
    right_delta = random_floats(rng, kTableSize);
    for (std::vector<float>* table : {&left_delta, &right_delta}) {
      (*table)[kPaddingCode] = 0.0F;
      if (n_codes <= kNarrowCodes) (*table)[kNarrowCodes] = 0.0F;
    }
    for (std::vector<std::uint8_t>* map : {&left_map, &right_map}) {
      for (int c = 0; c < kTableSize; ++c)
        map->push_back(static_cast<std::uint8_t>(rng.below(codes)));
      (*map)[kPaddingCode] = kPaddingCode;
    }
    sum_code = random_codes(rng, n_rows, codes);
    plan(rng, first, second);
    routed = code_bit(first) | code_bit(second);
    if (rng.below(3) != 0) apply_present = codes_by_block(apply_code);
    if (rng.below(3) != 0) sum_present = codes_by_block(sum_code);
    const auto n_sums =
        static_cast<std::size_t>((n_groups + kBlockGroups - 1) / kBlockGroups) * cells.size();
    sums.assign(n_sums, -1.0);
    if (!weight.empty()) weights.assign(n_sums, -1.0);
  }

  // The cells of no rule, of a rule in one leaf, or of one in two leaves.
  void plan(Rng& rng, std::uint8_t first, std::uint8_t second) {
    for (int c = 0; c < apply_codes; ++c)
      cells.push_back({static_cast<std::uint8_t>(c), Side::both});
    const std::uint32_t kind = rng.below(3);
    if (kind == 0) return;
    cells[first].side = Side::left;
    cells.push_back({first, Side::right});
    if (kind == 1 || first == second) second = first;
    if (second != first) {
      cells[second].side = Side::right;
      cells.push_back({second, Side::left});
    }
    sum_right = random_bits(rng, sum_code, first, second);
  }

  void run(const CpuKernels& kernels) {
    PassTask task{};
    task.combine = combine;
    task.residual = residual.data();
    task.weight = weight.empty() ? nullptr : weight.data();
    task.n_groups = static_cast<std::int64_t>(residual.size()) / kGroupRows;
    task.apply.code = with_apply ? apply_code.data() : nullptr;
    task.apply.left_delta = left_delta.data();
    task.apply.right_delta = right_delta.data();
    task.apply.n_codes = apply_codes;
    task.apply.left_map = with_map ? left_map.data() : nullptr;
    task.apply.right_map = right_map.data();
    // Nobody may read a rule's bits in blocks without its leaves.
    std::vector<std::uint64_t> apply_bits = with_garbage(apply_right, apply_present);
    std::vector<std::uint64_t> sum_bits = with_garbage(sum_right, sum_present);
    task.apply.right = with_right ? apply_bits.data() : nullptr;
    task.apply.masks = apply_present.empty() ? nullptr : apply_present.data();
    task.sum.masks = sum_present.empty() ? nullptr : sum_present.data();
    task.apply.routed = task.sum.routed = routed;
    task.sum.code = sum_code.data();
    task.sum.right = sum_right.empty() ? nullptr : sum_bits.data();
    task.sum.cells = cells.data();
    task.sum.n_cells = static_cast<std::int64_t>(cells.size());
    const BlockSums out{sums.data(), weights.empty() ? nullptr : weights.data()};
    kernels.apply_and_sum(task, out, 0, count_blocks(task.n_groups));
  }

  // What the kernels should do, a row at a time.
  void run_plainly() {
    for (std::size_t i = 0; with_apply && i < residual.size(); ++i) {
      const bool right = with_right && bit(apply_right, i);
      const float delta = (right ? right_delta : left_delta)[apply_code[i]];
      residual[i] = combine == Combine::add ? residual[i] + delta : residual[i] * delta;
      if (with_map) apply_code[i] = (right ? right_map : left_map)[apply_code[i]];
    }
    if (with_apply && !apply_present.empty()) apply_present = codes_by_block(apply_code);
    for (std::size_t at = 0; at < sums.size(); ++at) {
      const SumCell cell = cells[at % cells.size()];
      const std::size_t first = at / cells.size() * kBlockRows;
      float lane[kLanes] = {};
      float weight_lane[kLanes] = {};
      for (std::size_t i = first; i < std::min(first + kBlockRows, residual.size()); ++i) {
        if (sum_code[i] != cell.code) continue;
        const bool right = !sum_right.empty() && bit(sum_right, i);
        if (cell.side == (right ? Side::left : Side::right)) continue;
        lane[i % kLanes] += weight.empty() ? residual[i] : residual[i] * weight[i];
        if (!weight.empty()) weight_lane[i % kLanes] += weight[i];
      }
      sums[at] = reduce(lane);
      if (!weight.empty()) weights[at] = reduce(weight_lane);
    }
  }

  static double reduce(const float* lane) {
    double sum[kLanes];
    std::copy_n(lane, kLanes, sum);
    for (int width = kLanes / 2; width >= 1; width /= 2)
      for (int i = 0; i < width; ++i) sum[i] += sum[i + width];
    return sum[0];
  }

  std::vector<std::uint64_t> with_garbage(std::vector<std::uint64_t> bits,
                                          const std::vector<CodeMask>& present) const {
    for (std::size_t g = 0; g < bits.size() && !present.empty(); ++g)
      if ((present[g / kBlockGroups] & routed) == 0) bits[g] = 0x0123456789abcdefU;
    return bits;
  }

  // `expected` is done plainly. Its codes of each block must be known; where codes share a bit,
  // others may be believed in.
  bool operator==(const Passed& expected) const {
    bool knows = apply_present.size() == expected.apply_present.size();
    for (std::size_t b = 0; knows && b < apply_present.size(); ++b) {
      knows = (expected.apply_present[b] & ~apply_present[b]) == 0;
      if (apply_codes <= kOwnBits) knows &= apply_present[b] == expected.apply_present[b];
    }
    return knows && same(residual, expected.residual) && same(apply_code, expected.apply_code) &&
           same(sums, expected.sums) && same(weights, expected.weights);
  }
};

// ---- route -------------------------------------------------------------------------------------

struct Routed {
  std::vector<std::vector<float>> columns;
  std::vector<RouteTask::Term> terms;
  std::vector<std::uint32_t> levels, words;
  std::vector<std::uint8_t> code;
  std::vector<std::uint64_t> right;
  RightCounts counts{3, 5};
  RouteTask task{};

  Routed(Rng& rng, std::int64_t n_groups, int n_codes) {
    const auto n_rows = static_cast<std::size_t>(n_groups * kGroupRows);
    code = random_codes(rng, n_groups * kGroupRows, static_cast<std::uint32_t>(n_codes));
    right.assign(static_cast<std::size_t>(n_groups), ~std::uint64_t{0});
    task.left_code = static_cast<std::uint8_t>(rng.below(static_cast<std::uint32_t>(n_codes)));
    task.right_code =
        rng.below(2) == 0
            ? task.left_code
            : static_cast<std::uint8_t>(rng.below(static_cast<std::uint32_t>(n_codes)));
    task.is_categorical = rng.below(3) == 0;
    task.missing_right = rng.below(2) == 0;
    task.cut = static_cast<float>(0.3 * rng.normal());
    task.n_terms = rng.below(4);
    for (std::uint32_t k = 0; k < task.n_terms; ++k) {
      columns.push_back(random_floats(rng, n_rows));
      for (float& value : columns.back())
        if (rng.below(30) == 0) value = std::numeric_limits<float>::quiet_NaN();
    }
    const std::uint32_t n_levels = 1 + rng.below(rng.below(2) == 0 ? 20 : 700);
    for (std::size_t i = 0; i < n_rows; ++i) levels.push_back(rng.below(n_levels + 1));
    for (std::uint32_t k = 0; k < level_words(n_levels); ++k) words.push_back(rng.below(~0U));
    for (const std::vector<float>& column : columns)
      terms.push_back({column.data(), static_cast<float>(rng.normal())});
  }

  void run(const CpuKernels& kernels) {
    task.terms = terms.data();
    task.column = levels.data();
    task.words = words.data();
    task.n_words = static_cast<std::uint32_t>(words.size());
    task.code = code.data();
    task.right = right.data();
    kernels.route(task, 0, static_cast<std::int64_t>(right.size()), counts);
  }

  void run_plainly() {
    std::fill(right.begin(), right.end(), std::uint64_t{0});
    for (std::size_t i = 0; i < code.size(); ++i) {
      const bool in_left = code[i] == task.left_code;
      if ((!in_left && code[i] != task.right_code) || !goes_right(i)) continue;
      right[i / kGroupRows] |= std::uint64_t{1} << (i % kGroupRows);
      ++(in_left ? counts.of_left : counts.of_right);
    }
  }

  bool goes_right(std::size_t i) const {
    if (task.is_categorical) return ((words[levels[i] / 32] >> (levels[i] % 32)) & 1U) != 0;
    if (terms.empty()) return false;
    float score = terms[0].value * terms[0].column[i];
    for (std::size_t k = 1; k < terms.size(); ++k) score += terms[k].value * terms[k].column[i];
    return std::isnan(score) ? task.missing_right : score >= task.cut;
  }

  bool operator==(const Routed& other) const {
    return same(right, other.right) && counts.of_left == other.counts.of_left &&
           counts.of_right == other.counts.of_right;
  }
};

// ---- prediction --------------------------------------------------------------------------------

struct Predicted {
  std::vector<float> f, table;
  std::vector<double> sum;
  std::vector<std::uint8_t> code;
  std::vector<std::uint64_t> right;
  bool wide;

  Predicted(Rng& rng, std::int64_t n_groups, int n_codes) {
    const auto n_rows = static_cast<std::size_t>(n_groups * kGroupRows);
    f = random_floats(rng, n_rows);
    table = random_floats(rng, kTableSize);
    wide = n_codes > kNarrowCodes;
    table[kPaddingCode] = 0.0F;
    if (!wide) table[kNarrowCodes] = 0.0F;
    for (std::size_t i = 0; i < n_rows; ++i) sum.push_back(rng.normal());
    code = random_codes(rng, n_groups * kGroupRows, static_cast<std::uint32_t>(n_codes));
    right = random_bits(rng, code, 0, static_cast<std::uint8_t>(n_codes - 1));
  }

  void run(const CpuKernels& kernels) {
    const auto n_groups = static_cast<std::int64_t>(right.size());
    kernels.accumulate(f.data(), code.data(), table.data(), wide, n_groups);
    kernels.accumulate_double(sum.data(), code.data(), table.data(), wide, n_groups);
    kernels.assign(code.data(), right.data(), n_groups, kAssigned);
  }

  void run_plainly() {
    for (std::size_t i = 0; i < code.size(); ++i) {
      f[i] += table[code[i]];
      sum[i] += static_cast<double>(table[code[i]]);
      if (bit(right, i)) code[i] = kAssigned;
    }
  }

  bool operator==(const Predicted& other) const {
    return same(f, other.f) && same(sum, other.sum) && same(code, other.code);
  }
};

// ---- labels ------------------------------------------------------------------------------------

// Float against double: not the same bits as the plain loop, but those of the other tables.
struct Labels {
  std::vector<float> f;
  std::vector<std::uint8_t> label;
  std::vector<float> weight;  // empty: all are one
  float offset, factor;

  Labels(Rng& rng, std::size_t n, bool weighted) : f(random_floats(rng, n)), label(n) {
    if (weighted) weight = random_floats(rng, n);
    for (float& one : weight) one = std::abs(one);
    for (std::uint8_t& one : label) one = static_cast<std::uint8_t>(rng.below(2));
    offset = static_cast<float>(rng.normal());
    factor = static_cast<float>(det_exp(0.5 * rng.normal()));
  }

  double run(const NormalKernels& kernels) const {
    const auto n = static_cast<std::int64_t>(f.size());
    if (weight.empty()) return kernels.log_cdf(f.data(), label.data(), offset, factor, n);
    return kernels.weighted_log_cdf(f.data(), label.data(), weight.data(), offset, factor, n);
  }

  // Where erfc would be zero, the first terms of the asymptotic series.
  static double log_phi(double z) {
    if (z > -30.0) return std::log(0.5 * std::erfc(-z * std::sqrt(0.5)));
    return -0.5 * z * z - std::log(-z * std::sqrt(2.0 * 3.141592653589793)) - 1.0 / (z * z);
  }

  double run_plainly() const {
    double total = 0.0;
    for (std::size_t i = 0; i < f.size(); ++i) {
      const double z = static_cast<double>(offset + factor * f[i]);
      const double w = weight.empty() ? 1.0 : static_cast<double>(weight[i]);
      total += w * log_phi(label[i] != 0 ? z : -z);
    }
    return total;
  }
};

void check_labels(Rng& rng, std::size_t n, bool weighted, KernelChecks& found) {
  const Labels task(rng, n, weighted);
  const double expected = task.run_plainly();
  const double first = task.run(normal_kernels(available_simd().front()));
  ++found.n_tasks;
  for (const Simd level : available_simd()) {
    const double done = task.run(normal_kernels(level));
    const bool is_near = std::abs(done - expected) <= 1e-6 * (static_cast<double>(n) - expected);
    if (!is_near || std::memcmp(&done, &first, sizeof done) != 0) ++found.n_different;
  }
}

// Scores of classes: logarithms of sums, and the logistic likelihood.
struct Scores {
  std::vector<float> score, origin, weight;
  float factor;

  Scores(Rng& rng, std::size_t n)
      : score(random_floats(rng, n)), origin(random_floats(rng, n)), weight(random_floats(rng, n)) {
    for (float& one : score) one *= rng.below(8) == 0 ? 100.0F : 8.0F;
    for (float& one : weight) one = std::abs(one);
    factor = static_cast<float>(det_exp(0.5 * rng.normal()));
  }

  // One number per row, and the likelihood.
  std::vector<double> run(const NormalKernels& kernels) const {
    const auto n = static_cast<std::int64_t>(score.size());
    std::vector<float> sum(score.size());
    kernels.log_add_exp(score.data(), origin.data(), sum.data(), n);
    std::vector<double> out(sum.begin(), sum.end());
    out.push_back(kernels.log_logistic(score.data(), origin.data(), weight.data(), factor, n));
    return out;
  }

  std::vector<double> run_plainly() const {
    std::vector<double> out;
    double total = 0.0;
    for (std::size_t i = 0; i < score.size(); ++i) {
      const auto a = static_cast<double>(score[i]);
      const auto b = static_cast<double>(origin[i]);
      out.push_back(std::max(a, b) + std::log1p(std::exp(-std::abs(a - b))));
      const auto z = static_cast<double>(origin[i] + factor * score[i]);
      total +=
          static_cast<double>(weight[i]) * (std::min(z, 0.0) - std::log1p(std::exp(-std::abs(z))));
    }
    out.push_back(total);
    return out;
  }
};

void check_scores(Rng& rng, std::size_t n, KernelChecks& found) {
  const Scores task(rng, n);
  const std::vector<double> expected = task.run_plainly();
  const std::vector<double> first = task.run(normal_kernels(available_simd().front()));
  ++found.n_tasks;
  for (const Simd level : available_simd()) {
    const std::vector<double> done = task.run(normal_kernels(level));
    bool is_near = true;
    for (std::size_t i = 0; i < done.size(); ++i)
      is_near &= std::abs(done[i] - expected[i]) <= 2e-6 * (1.0 + std::abs(expected[i]));
    if (!is_near || !same(done, first)) ++found.n_different;
  }
}

template <class Task>
void check(Rng& rng, std::int64_t n_groups, int size, KernelChecks& found) {
  const auto kernels_of = [](Simd level) -> const CpuKernels& { return cpu_kernels(level); };
  check_task<Task>(rng, n_groups, size, kernels_of, found);
}

}  // namespace

KernelChecks check_kernels(std::uint64_t seed) {
  KernelChecks found;
  for (const Simd level : available_simd()) found.tables.emplace_back(simd_name(level));
  Rng rng(seed, 0);
  for (std::size_t n = 1; n < 300; ++n)
    for (const bool weighted : {false, true}) check_labels(rng, n, weighted, found);
  for (std::size_t n = 1; n < 300; ++n) check_scores(rng, n, found);
  for (const std::int64_t n_groups : {1, 5, 16, 37})
    for (const int n_codes : {1,  2,  3,  4,  5,  6,  7,  8,  9,  11,  13,  14,  15,  16, 17,
                              18, 24, 25, 30, 31, 32, 33, 63, 64, 125, 126, 127, 128, 250})
      for (int repeat = 0; repeat < 8; ++repeat) {
        check<Passed>(rng, n_groups, n_codes, found);
        check<Routed>(rng, n_groups, n_codes, found);
        check<Predicted>(rng, n_groups, n_codes, found);
      }
  check_soft_kernels(rng, found);
  return found;
}

}  // namespace obart::testing
