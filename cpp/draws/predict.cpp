#include "draws/predict.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "draws/few_rows.h"
#include "draws/parallel.h"
#include "draws/quantiles.h"
#include "draws/router.h"

namespace obart {
namespace {

// A block of rows times so many draws stays in the L2 cache.
constexpr std::int64_t kPredictDraws = 64;

// One thread's work space: leaf codes of a block of rows under the latest structure of each tree.
class BlockPredictor {
 public:
  BlockPredictor(const Draws& draws, const Data& data, const PredictOptions& options)
      : draws_(draws),
        options_(options),
        router_(draws, data),
        code_(draws.is_soft() ? 0 : static_cast<std::size_t>(draws.n_trees() * kRouteRows)),
        shared_(draws.is_soft()),
        current_(static_cast<std::size_t>(draws.n_trees())),
        f_(static_cast<std::size_t>(kRouteRows * kPredictDraws)),
        data_(data),
        few_rows_(draws, router_.program()) {}

  void start(std::int64_t block) {
    router_.start(block);
    std::fill(current_.begin(), current_.end(), kNoStructure);
    if (is_few()) few_rows_.start(data_, row(), n_rows());
  }
  std::int64_t row() const { return router_.row(); }
  std::int64_t n_rows() const { return router_.n_rows(); }
  const std::uint8_t* codes(std::int64_t m) const { return code_.data() + m * kRouteRows; }

  // How far apart draws are in a tile.
  std::int64_t stride() const { return is_few() ? kFewRows : kRouteRows; }

  // f, or its link, for draws first..first+n, row-contiguous for each draw.
  const float* tile(std::int64_t first, std::int64_t n) {
    std::fill(f_.data(), f_.data() + n * stride(), 0.0F);
    if (is_few())
      few_rows_.add_trees(first, n, options_.link.term, f_.data());
    else if (draws_.is_soft())
      add_soft_trees(first, n);
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
    router_.route(structure, code_.data() + m * kRouteRows);
  }

 private:
  bool is_few() const { return n_rows() <= kFewRows && !draws_.is_soft(); }

  void add_soft_trees(std::int64_t first, std::int64_t n) {
    float table[kTableSize] = {};
    for (std::int64_t m = 0; m < draws_.n_trees(); ++m) {
      std::uint32_t current = kNoStructure;
      for (std::int64_t d = first; d < first + n; ++d) {
        const std::uint32_t structure = draws_.structure(d, m);
        const std::span<const float> outputs = draws_.outputs(d, m);
        if (structure != current) shared_.find(router_, structure, outputs.size());
        current = structure;
        options_.link.copy_terms(outputs, table);
        shared_.accumulate(router_, table, outputs.size(), f_.data() + (d - first) * kRouteRows);
      }
    }
  }

  void add_trees(std::int64_t first, std::int64_t n) {
    float table[kTableSize] = {};
    for (std::int64_t m = 0; m < draws_.n_trees(); ++m) {
      for (std::int64_t d = first; d < first + n; ++d) {
        update_codes(d, m);
        const std::span<const float> outputs = draws_.outputs(d, m);
        options_.link.copy_terms(outputs, table);
        router_.accumulate(f_.data() + (d - first) * kRouteRows, codes(m), table, outputs.size());
      }
    }
  }

  const Draws& draws_;
  const PredictOptions options_;
  Router router_;
  AlignedBuffer<std::uint8_t> code_;
  TreeRows shared_;  // of the tree at hand, if draws are soft
  std::vector<std::uint32_t> current_;
  AlignedBuffer<float> f_;
  const Data& data_;
  FewRows few_rows_;
};

// work(predictor, scratch) for every block, on n_threads threads.
template <class Work>
void for_blocks(const Draws& draws, const Data& data, const PredictOptions& options,
                const Work& work) {
  require_same_columns(draws, data);
  for_pieces(count_route_blocks(data.n_rows()), options.n_threads, [&] {
    return [&, predictor = BlockPredictor(draws, data, options),
            scratch = work.scratch()](std::int64_t block) mutable {
      predictor.start(block);
      work(predictor, scratch);
    };
  });
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
  std::vector<std::int64_t> place{};  // of each draw, if those of one kind of noise go together

  struct Scratch {
    std::vector<float> by_row;  // kRouteRows x n_draws
    std::vector<double> shift, sum, squares;
  };
  Scratch scratch() const {
    Scratch s;
    if (!request.quantiles.empty())
      s.by_row.resize(static_cast<std::size_t>(kRouteRows * draws.n_draws()));
    s.shift.resize(kRouteRows);
    s.sum.resize(kRouteRows);
    s.squares.resize(kRouteRows);
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
    const std::int64_t to = place.empty() ? d : place[static_cast<std::size_t>(d)];
    for (std::int64_t i = 0; i < predictor.n_rows(); ++i) {
      const auto k = static_cast<std::size_t>(i);
      const float value = f[i];
      if (d == 0) s.shift[k] = static_cast<double>(value);
      const double centred = static_cast<double>(value) - s.shift[k];
      s.sum[k] += centred;
      s.squares[k] += centred * centred;
      if (!s.by_row.empty()) s.by_row[static_cast<std::size_t>(i * draws.n_draws() + to)] = value;
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

namespace {

// Draws in the order of their degrees of freedom, in which noise has its scales.
std::vector<std::int64_t> by_df(const double* df, std::int64_t n_draws, Noise& noise) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n_draws));
  std::iota(order.begin(), order.end(), 0);
  if (df == nullptr) return order;
  std::stable_sort(order.begin(), order.end(),
                   [df](std::int64_t a, std::int64_t b) { return df[a] < df[b]; });
  for (const std::int64_t d : order) {
    const int degrees = even_df(df[d]);
    if (noise.groups.empty() || noise.groups.back().student_t.df != degrees)
      noise.groups.push_back({EvenStudentT(degrees), 0});
    ++noise.groups.back().n_draws;
  }
  return order;
}

}  // namespace

void summarise(const Draws& draws, const Data& data, const PredictOptions& options,
               const SummaryRequest& request, const SummaryOutput& out) {
  Summarise work{draws, data, request, out};
  if (request.noise_scale != nullptr) {
    if (options.link.apply != nullptr || options.link.term != nullptr)
      throw std::invalid_argument("summarise: noise goes with the identity link only");
    Noise& noise = work.noise.emplace();
    const std::vector<std::int64_t> order = by_df(request.noise_df, draws.n_draws(), noise);
    if (noise.groups.size() > 1) work.place.resize(order.size());
    double smallest = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < order.size(); ++k) {
      const std::int64_t d = order[k];
      if (!work.place.empty())
        work.place[static_cast<std::size_t>(d)] = static_cast<std::int64_t>(k);
      const double scale = request.noise_scale[d];
      if (!(scale >= 0.0))
        throw std::invalid_argument("summarise: noise_scale must not be negative");
      smallest = std::min(smallest, scale);
      noise.inverse_scale.push_back(static_cast<float>(1.0 / std::max(scale, 1e-20)));
      const double df = request.noise_df == nullptr ? 0.0 : request.noise_df[d];
      const double sd = request.noise_df == nullptr ? scale : std::sqrt(df / (df - 2.0)) * scale;
      work.noise_variance += sd * sd / static_cast<double>(draws.n_draws());
    }
    work.tolerance = 1e-3 * smallest;
    for (const double q : request.quantiles) work.wanted.emplace_back(q, noise);
  }
  for_blocks(draws, data, options, work);
}

void leaf_codes(const Draws& draws, const Data& data, std::int64_t draw, std::int64_t tree,
                std::uint8_t* out) {
  require_same_columns(draws, data);
  if (draw < 0 || draw >= draws.n_draws() || tree < 0 || tree >= draws.n_trees())
    throw std::invalid_argument("leaf_codes: no such draw or tree");
  Router router(draws, data);
  AlignedBuffer<std::uint8_t> code(static_cast<std::size_t>(kRouteRows));
  for (std::int64_t block = 0; block < count_route_blocks(data.n_rows()); ++block) {
    router.start(block);
    router.route(draws.structure(draw, tree), code.data());
    std::copy_n(code.data(), router.n_rows(), out + router.row());
  }
}

}  // namespace obart
