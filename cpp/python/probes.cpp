// Parts of the core that only tests look at; not in the wheel.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <numeric>

#include "base/block_shares.h"
#include "base/normal_kernels.h"
#include "base/numa.h"
#include "base/polya_gamma.h"
#include "base/random.h"
#include "base/thread_chooser.h"
#include "base/truncated_logistic.h"
#include "model/lp.h"
#include "python/arrays.h"
#include "sweep/sampler.h"
#include "sweep/soft_scratch.h"

namespace obart {
namespace {

using namespace nb::literals;

template <class T, class Draw>
nb::ndarray<nb::numpy, T> fill(std::int64_t n, const Draw& draw) {
  std::vector<T> out(static_cast<std::size_t>(n));
  for (T& value : out) value = draw();
  return to_numpy(std::move(out));
}

std::pair<std::string, double> maximise(In<double, 2> a, DoubleVector b, DoubleVector lower,
                                        DoubleVector upper, DoubleVector objective) {
  const std::size_t n_cols = objective.shape(0);
  if (a.shape(0) != b.shape(0) || (a.shape(0) > 0 && a.shape(1) != n_cols) ||
      lower.shape(0) != n_cols || upper.shape(0) != n_cols)
    throw nb::value_error("lp_maximise: shapes do not agree");
  LpWorkspace workspace;
  const LpResult result =
      lp_maximise({static_cast<int>(a.shape(0)), static_cast<int>(n_cols), a.data(), b.data(),
                   lower.data(), upper.data(), objective.data()},
                  workspace);
  const char* status = result.status == LpStatus::optimal      ? "optimal"
                       : result.status == LpStatus::infeasible ? "infeasible"
                                                               : "failed";
  return {status, result.value};
}

// The partition of the rows by the first tree: labels in order of appearance, four bits each.
std::uint64_t partition_key(const Sampler& sampler, std::size_t e) {
  std::uint64_t key = 0;
  std::array<int, kTableSize> label;
  label.fill(-1);
  int n_labels = 0;
  for (std::int64_t i = 0; i < sampler.data().n_rows(); ++i) {
    const std::uint8_t code = sampler.ensemble(e).codes(0)[i];
    if (label[code] < 0) label[code] = n_labels++;
    key |= static_cast<std::uint64_t>(label[code]) << (4 * i);
  }
  return key;
}

nb::ndarray<nb::numpy, std::uint64_t> partition_keys(Sampler& sampler, std::int64_t n_sweeps,
                                                     std::size_t e) {
  if (sampler.ensemble(e).trees.size() != 1 || sampler.data().n_rows() > 16)
    throw nb::value_error("partition_keys needs one tree and at most 16 rows");
  return fill<std::uint64_t>(n_sweeps, [&] {
    sampler.sweep();
    return partition_key(sampler, e);
  });
}

// Block sums added up by one thread, and as so many threads share them.
std::vector<double> total_in_pairs(const std::vector<double>& blocks) {
  std::vector<double> sums = blocks;
  add_in_pairs(sums.data(), 0, static_cast<std::int64_t>(sums.size()), 1);
  PairwiseSum<1> one_by_one;
  for (const double sum : blocks) one_by_one.add({sum});
  double total[1];
  one_by_one.total(total);
  return {sums[0], total[0]};
}

std::vector<double> total_of_shares(const std::vector<double>& blocks, std::int64_t width,
                                    std::int64_t n_threads) {
  std::vector<double> sums = blocks;
  BlockShares shares(static_cast<std::int64_t>(sums.size()) / width);
  shares.set_threads(n_threads);
  for (std::int64_t t = n_threads - 1; t >= 0; --t)
    shares.add_own(sums.data(), width, shares.of(t));
  shares.add_rest(sums.data(), width);
  sums.resize(static_cast<std::size_t>(width));
  return sums;
}

std::vector<std::pair<std::int64_t, std::int64_t>> list_shares(std::int64_t n_blocks,
                                                               std::int64_t n_threads) {
  BlockShares shares(n_blocks);
  shares.set_threads(n_threads);
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  for (std::int64_t t = 0; t < n_threads; ++t)
    out.emplace_back(shares.of(t).first, shares.of(t).last);
  return out;
}

// The outputs of a tree whose leaves have shares of rows: columns of `shares`, and what the other
// trees leave.
SoftOutputs soft_outputs(In<double, 2> shares, DoubleVector left, std::size_t n_leaves,
                         double sigma, double leaf_sd) {
  const std::size_t n = shares.shape(1);
  if (n_leaves > shares.shape(0) || left.shape(0) != n)
    throw nb::value_error("soft_outputs: shapes do not agree");
  const auto product = [n](const double* a, const double* b) {
    return std::inner_product(a, a + n, b, 0.0);
  };
  std::vector<double> sums;
  for (std::size_t i = 0; i < n_leaves; ++i)
    for (std::size_t j = 0; j <= i; ++j)
      sums.push_back(product(shares.data() + i * n, shares.data() + j * n));
  for (std::size_t i = 0; i < n_leaves; ++i)
    sums.push_back(product(shares.data() + i * n, left.data()));
  SoftLeaves leaves;
  leaves.set(n_leaves);
  NormalLeaf leaf{LeafSettings{}};
  leaf.set(sigma, leaf_sd);
  SoftOutputs out;
  out.set(leaves, sums.data(), n_leaves, leaf);
  return out;
}

auto map(double (*f)(double)) {
  return [f](DoubleVector x) {
    std::size_t i = 0;
    return fill<double>(static_cast<std::int64_t>(x.shape(0)), [&] { return f(x.data()[i++]); });
  };
}

}  // namespace

NB_MODULE(_probes, m) {
  m.doc() = "Parts of the core of obliquebart, for tests.";
  nb::module_::import_("obliquebart._core");  // knows the type of a sampler
  m.def("lp_maximise", &maximise, "a"_a, "b"_a, "lower"_a, "upper"_a, "objective"_a);
  m.def("partition_keys", &partition_keys, "sampler"_a, "n_sweeps"_a, "ensemble"_a = 0);
  m.def("det_log", map(&det_log), "x"_a);
  m.def("det_exp", map(&det_exp), "x"_a);
  m.def(
      "log_interval",
      [](In<float, 1> f, float factor, double low, double high) {
        return normal_kernels().log_interval(f.data(), factor, low, high,
                                             static_cast<std::int64_t>(f.shape(0)));
      },
      "f"_a, "factor"_a, "low"_a, "high"_a);
  m.def(
      "soft_log_likelihood_over_root",
      [](In<double, 2> shares, DoubleVector left, double sigma, double leaf_sd) {
        const std::size_t n = shares.shape(0);
        return soft_outputs(shares, left, n, sigma, leaf_sd)
            .log_likelihood_over(soft_outputs(shares, left, 1, sigma, leaf_sd));
      },
      "shares"_a, "left"_a, "sigma"_a, "leaf_sd"_a);
  m.def(
      "draw_soft_outputs",
      [](In<double, 2> shares, DoubleVector left, double sigma, double leaf_sd, Rng& rng) {
        std::vector<float> outputs;
        soft_outputs(shares, left, shares.shape(0), sigma, leaf_sd).draw(rng, outputs);
        return outputs;
      },
      "shares"_a, "left"_a, "sigma"_a, "leaf_sd"_a, "rng"_a);
  m.def("total_in_pairs", &total_in_pairs, "blocks"_a);
  m.def("total_of_shares", &total_of_shares, "blocks"_a, "width"_a, "n_threads"_a);
  m.def("list_shares", &list_shares, "n_blocks"_a, "n_threads"_a);
  m.def(
      "read_processor_list", [](const std::string& text) { return read_processor_list(text); },
      "text"_a);
  nb::class_<ThreadChooser>(m, "ThreadChooser", "How many threads a chain uses.")
      .def(nb::init<std::int64_t, std::int64_t>(), "n_blocks"_a, "most"_a)
      .def_prop_ro("n_threads", &ThreadChooser::n_threads)
      .def_prop_ro("most", &ThreadChooser::most)
      .def("add", &ThreadChooser::add, "seconds"_a)
      .def("give_up", &ThreadChooser::give_up, "seconds"_a);
  nb::class_<Rng>(m, "Rng", "The chains' random numbers.")
      .def(nb::init<std::uint64_t, std::uint64_t>(), "seed"_a, "stream"_a)
      .def("next",
           [](Rng& r, std::int64_t n) { return fill<std::uint64_t>(n, [&] { return r.next(); }); })
      .def("uniform",
           [](Rng& r, std::int64_t n) { return fill<double>(n, [&] { return r.uniform(); }); })
      .def("normal",
           [](Rng& r, std::int64_t n) { return fill<double>(n, [&] { return r.normal(); }); })
      .def("exponential",
           [](Rng& r, std::int64_t n) { return fill<double>(n, [&] { return r.exponential(); }); })
      .def("gamma", [](Rng& r, double shape,
                       std::int64_t n) { return fill<double>(n, [&] { return r.gamma(shape); }); })
      .def("beta", [](Rng& r, double a, double b,
                      std::int64_t n) { return fill<double>(n, [&] { return r.beta(a, b); }); })
      .def("poisson",
           [](Rng& r, double mean, std::int64_t n) {
             return fill<std::int64_t>(n, [&] { return r.poisson(mean); });
           })
      .def("sum_above",
           [](Rng& r, std::int64_t terms, double a, std::int64_t n) {
             return fill<double>(n, [&] { return r.sum_above(terms, a); });
           })
      .def("polya_gamma",
           [](Rng& r, double z, std::int64_t n) {
             return fill<double>(n, [&] { return polya_gamma(z, r); });
           })
      .def("polya_gammas",
           [](Rng& r, DoubleVector z) {
             std::vector<double> out(z.shape(0));
             polya_gamma(z.data(), out.size(), out.data(), r);
             return to_numpy(std::move(out));
           })
      .def("polya_gamma_sum",
           [](Rng& r, std::int64_t terms, double z, std::int64_t n) {
             return fill<double>(n, [&] { return polya_gamma(terms, z, r); });
           })
      .def("normal_above",
           [](Rng& r, double a, std::int64_t n) {
             return fill<double>(n, [&] { return r.normal_above(a); });
           })
      .def("normal_between",
           [](Rng& r, double a, double b, std::int64_t n) {
             return fill<double>(n, [&] { return r.normal_between(a, b); });
           })
      .def("logistic_above",
           [](Rng& r, double a, std::int64_t n) {
             return fill<double>(n, [&] { return logistic_above(a, r); });
           })
      .def("logistic_between",
           [](Rng& r, double a, double b, std::int64_t n) {
             return fill<double>(n, [&] { return logistic_between(a, b, r); });
           })
      .def("below", [](Rng& r, std::uint32_t k, std::int64_t n) {
        return fill<std::uint32_t>(n, [&] { return r.below(k); });
      });
}

}  // namespace obart
