#include "draws/predict.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "backend/cpu/kernels.h"
#include "draws/few_rows.h"
#include "draws/program.h"
#include "draws/quantiles.h"

namespace obart {
namespace {

constexpr std::int64_t kPredictRows = 256;  // a block of rows ...
constexpr std::int64_t kPredictDraws = 64;  // ... times so many draws stays in the L2 cache
constexpr std::int64_t kPredictGroups = kPredictRows / kGroupRows;

// One thread's work space: leaf codes of a block of rows under the latest structure of each tree.
class BlockPredictor {
 public:
  BlockPredictor(const Draws& draws, const Data& data, const PredictOptions& options)
      : draws_(draws),
        program_(draws.program()),
        data_(data),
        options_(options),
        kernels_(cpu_kernels(chosen_simd())),
        code_(static_cast<std::size_t>(draws.n_trees() * kPredictRows)),
        current_(static_cast<std::size_t>(draws.n_trees())),
        f_(static_cast<std::size_t>(kPredictRows * kPredictDraws)),
        few_rows_(draws, *program_) {}

  void start(std::int64_t block) {
    row_ = block * kPredictRows;
    n_groups_ = std::min(kPredictGroups, (data_.n_padded() - row_) / kGroupRows);
    n_rows_ = std::min(kPredictRows, data_.n_rows() - row_);
    std::fill(current_.begin(), current_.end(), kNoStructure);
    if (is_few()) few_rows_.start(data_, row_, n_rows_);
  }
  std::int64_t row() const { return row_; }
  std::int64_t n_rows() const { return n_rows_; }
  const std::uint8_t* codes(std::int64_t m) const { return code_.data() + m * kPredictRows; }

  // How far apart draws are in a tile.
  std::int64_t stride() const { return is_few() ? kFewRows : kPredictRows; }

  // f, or its link, for draws first..first+n, row-contiguous for each draw.
  const float* tile(std::int64_t first, std::int64_t n) {
    std::fill(f_.data(), f_.data() + n * stride(), 0.0F);
    if (is_few())
      few_rows_.add_trees(first, n, options_.link.term, f_.data());
    else
      add_trees(first, n);
    if (options_.link.apply != nullptr)
      options_.link.apply(f_.data(), static_cast<float>(options_.offset), n * stride());
    return f_.data();
  }

  void update_codes(std::int64_t d, std::int64_t m) {
    const std::uint32_t structure = draws_.structure(d, m);
    if (structure == current_[static_cast<std::size_t>(m)]) return;
    current_[static_cast<std::size_t>(m)] = structure;
    route(structure, code_.data() + m * kPredictRows);
  }

 private:
  bool is_few() const { return n_rows_ <= kFewRows; }

  void add_trees(std::int64_t first, std::int64_t n) {
    float table[kTableSize] = {};
    for (std::int64_t m = 0; m < draws_.n_trees(); ++m) {
      for (std::int64_t d = first; d < first + n; ++d) {
        update_codes(d, m);
        const std::span<const float> outputs = draws_.outputs(d, m);
        if (options_.link.term == nullptr)
          std::copy(outputs.begin(), outputs.end(), table);
        else
          std::transform(outputs.begin(), outputs.end(), table, options_.link.term);
        kernels_.accumulate(f_.data() + (d - first) * kPredictRows, codes(m), table,
                            outputs.size() > kNarrowCodes + 1, n_groups_);
      }
    }
  }

  void route(std::uint32_t structure, std::uint8_t* code) {
    const DrawArrays& a = draws_.arrays();
    std::fill(code, code + kPredictRows, std::uint8_t{0});
    std::uint64_t right[kPredictGroups];
    RightCounts counts;
    for (const Step& step : program_->steps(structure)) {
      RouteTask task{};
      task.is_categorical = step.kind == RuleKind::categorical;
      task.missing_right = step.missing_right;
      task.cut = step.cut;
      task.code = code;
      task.left_code = task.right_code = step.left_code;
      task.right = right;
      if (step.kind == RuleKind::continuous) {
        terms_.clear();
        for (std::uint64_t k = step.first; k < step.first + step.n_items; ++k)
          terms_.push_back({data_.cont(a.phi_column[k]) + row_, a.phi_value[k]});
        task.terms = terms_.data();
        task.n_terms = step.n_items;
      } else {
        task.column = data_.cat(step.column) + row_;
        task.words = program_->words(step);
        task.n_words = step.n_items;
      }
      kernels_.route(task, 0, n_groups_, counts);
      kernels_.assign(code, right, n_groups_, step.right_code);
    }
  }

  const Draws& draws_;
  const std::shared_ptr<const Program> program_;
  const Data& data_;
  const PredictOptions options_;
  const CpuKernels& kernels_;
  AlignedBuffer<std::uint8_t> code_;
  std::vector<std::uint32_t> current_;
  AlignedBuffer<float> f_;
  FewRows few_rows_;
  std::vector<RouteTask::Term> terms_;
  std::int64_t row_ = 0, n_groups_ = 0, n_rows_ = 0;
};

void check(const Draws& draws, const Data& data) {
  if (draws.p_cont() != data.p_cont() || draws.n_levels() != data.n_levels())
    throw std::invalid_argument("predict: the data have other columns than the draws");
}

// work(predictor, block) for every block, on n_threads threads.
template <class Work>
void for_blocks(const Draws& draws, const Data& data, const PredictOptions& options,
                const Work& work) {
  check(draws, data);
  const std::int64_t n_blocks = (data.n_rows() + kPredictRows - 1) / kPredictRows;
  std::atomic<std::int64_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto run = [&]() noexcept {
    try {
      BlockPredictor predictor(draws, data, options);
      auto scratch = work.scratch();
      for (std::int64_t block; (block = next.fetch_add(1)) < n_blocks;) {
        predictor.start(block);
        work(predictor, scratch);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  try {
    for (std::int64_t t = 1; t < std::min(options.n_threads, n_blocks); ++t)
      threads.emplace_back(run);
  } catch (const std::system_error&) {  // the system has no more: fewer will do
  }
  run();
  for (std::thread& thread : threads) thread.join();
  if (failure != nullptr) std::rethrow_exception(failure);
}

struct WriteDraws {
  const Draws& draws;
  const Data& data;
  float* out;
  struct Scratch {};
  Scratch scratch() const { return {}; }
  void operator()(BlockPredictor& predictor, Scratch&) const {
    for (std::int64_t first = 0; first < draws.n_draws(); first += kPredictDraws) {
      const std::int64_t n = std::min(kPredictDraws, draws.n_draws() - first);
      const float* f = predictor.tile(first, n);
      for (std::int64_t d = 0; d < n; ++d) {
        float* to = out + (first + d) * data.n_rows() + predictor.row();
        std::copy_n(f + d * predictor.stride(), predictor.n_rows(), to);
      }
    }
  }
};

struct Summarise {
  const Draws& draws;
  const Data& data;
  const SummaryRequest& request;
  const SummaryOutput& out;
  double noise_variance = 0.0;  // mean over the draws
  double tolerance = 0.0;       // of a mixture's quantile
  std::optional<Noise> noise{};
  std::vector<MixtureQuantile> wanted{};

  struct Scratch {
    std::vector<float> by_row;  // kPredictRows x n_draws
    std::vector<double> shift, sum, squares;
  };
  Scratch scratch() const {
    Scratch s;
    if (!request.quantiles.empty())
      s.by_row.resize(static_cast<std::size_t>(kPredictRows * draws.n_draws()));
    s.shift.resize(kPredictRows);
    s.sum.resize(kPredictRows);
    s.squares.resize(kPredictRows);
    return s;
  }
  void operator()(BlockPredictor& predictor, Scratch& s) const {
    std::fill(s.sum.begin(), s.sum.end(), 0.0);
    std::fill(s.squares.begin(), s.squares.end(), 0.0);
    for (std::int64_t first = 0; first < draws.n_draws(); first += kPredictDraws) {
      const std::int64_t n = std::min(kPredictDraws, draws.n_draws() - first);
      const float* f = predictor.tile(first, n);
      for (std::int64_t d = 0; d < n; ++d) add(predictor, s, first + d, f + d * predictor.stride());
    }
    const auto n = static_cast<double>(draws.n_draws());
    for (std::int64_t i = 0; i < predictor.n_rows(); ++i) {
      const auto k = static_cast<std::size_t>(i);
      const std::int64_t row = predictor.row() + i;
      const double mean = s.sum[k] / n;
      const double variance =
          std::max(0.0, (s.squares[k] - n * mean * mean) / std::max(1.0, n - 1.0));
      out.mean[row] = s.shift[k] + mean;
      out.sd[row] = std::sqrt(variance + noise_variance);
      if (!request.quantiles.empty()) quantiles(s, i, row);
    }
  }

 private:
  void add(const BlockPredictor& predictor, Scratch& s, std::int64_t d, const float* f) const {
    for (std::int64_t i = 0; i < predictor.n_rows(); ++i) {
      const auto k = static_cast<std::size_t>(i);
      const float value = f[i];
      if (d == 0) s.shift[k] = static_cast<double>(value);
      const double centred = static_cast<double>(value) - s.shift[k];
      s.sum[k] += centred;
      s.squares[k] += centred * centred;
      if (!s.by_row.empty()) s.by_row[static_cast<std::size_t>(i * draws.n_draws() + d)] = value;
    }
  }
  void quantiles(Scratch& s, std::int64_t i, std::int64_t row) const {
    const auto n = static_cast<std::size_t>(draws.n_draws());
    const std::span<float> values(s.by_row.data() + static_cast<std::size_t>(i) * n, n);
    for (std::size_t q = 0; q < request.quantiles.size(); ++q)
      out.quantiles[static_cast<std::int64_t>(q) * data.n_rows() + row] =
          noise ? mixture_quantile(values, *noise, out.mean[row], out.sd[row], tolerance, wanted[q])
                : sample_quantile(values, request.quantiles[q]);
  }
};

}  // namespace

void predict_draws(const Draws& draws, const Data& data, const PredictOptions& options,
                   float* out) {
  for_blocks(draws, data, options, WriteDraws{draws, data, out});
}

void summarise(const Draws& draws, const Data& data, const PredictOptions& options,
               const SummaryRequest& request, const SummaryOutput& out) {
  Summarise work{draws, data, request, out};
  if (request.noise_scale != nullptr) {
    if (options.link.apply != nullptr || options.link.term != nullptr)
      throw std::invalid_argument("summarise: noise goes with the identity link only");
    Noise& noise = work.noise.emplace();
    if (request.noise_df) noise.student_t.emplace(*request.noise_df);
    const double unit = noise.student_t ? noise.student_t->sd() : 1.0;
    double smallest = std::numeric_limits<double>::infinity();
    for (std::int64_t d = 0; d < draws.n_draws(); ++d) {
      const double scale = request.noise_scale[d];
      if (!(scale >= 0.0))
        throw std::invalid_argument("summarise: noise_scale must not be negative");
      smallest = std::min(smallest, scale);
      noise.inverse_scale.push_back(static_cast<float>(1.0 / std::max(scale, 1e-20)));
      const double sd = unit * scale;
      work.noise_variance += sd * sd / static_cast<double>(draws.n_draws());
    }
    work.tolerance = 1e-3 * smallest;
    for (const double q : request.quantiles) work.wanted.emplace_back(q, noise);
  }
  for_blocks(draws, data, options, work);
}

void leaf_codes(const Draws& draws, const Data& data, std::int64_t draw, std::int64_t tree,
                std::uint8_t* out) {
  check(draws, data);
  if (draw < 0 || draw >= draws.n_draws() || tree < 0 || tree >= draws.n_trees())
    throw std::invalid_argument("leaf_codes: no such draw or tree");
  BlockPredictor predictor(draws, data, {find_link("identity")});
  for (std::int64_t block = 0; block * kPredictRows < data.n_rows(); ++block) {
    predictor.start(block);
    predictor.update_codes(draw, tree);
    std::copy_n(predictor.codes(tree), predictor.n_rows(), out + predictor.row());
  }
}

}  // namespace obart
