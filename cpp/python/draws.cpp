#include "python/draws.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "draws/predict.h"
#include "draws/replace.h"
#include "python/arrays.h"
#include "python/state.h"

namespace obart {
namespace {

using namespace nb::literals;

nb::ndarray<nb::numpy, float> predict(const Draws& draws, const Data& data, const std::string& link,
                                      double offset, std::int64_t n_threads) {
  const auto n = static_cast<std::size_t>(data.n_rows());
  const auto n_draws = static_cast<std::size_t>(draws.n_draws());
  std::vector<float> out(n * n_draws);
  const PredictOptions options{find_link(link), offset, n_threads};
  {
    const nb::gil_scoped_release unlocked;
    predict_draws(draws, data, options, out.data());
  }
  return to_numpy(std::move(out), {n_draws, n});
}

nb::dict summary(const Draws& draws, const Data& data, const std::string& link, double offset,
                 std::vector<double> quantiles, std::optional<DoubleVector> noise_scale,
                 std::optional<DoubleVector> noise_df, std::int64_t n_threads) {
  const auto n = static_cast<std::size_t>(data.n_rows());
  if (draws.n_draws() == 0) throw nb::value_error("summarise: there are no draws");
  if (noise_scale && noise_scale->shape(0) != static_cast<std::size_t>(draws.n_draws()))
    throw nb::value_error("noise_scale must have one entry per draw");
  if (noise_df && noise_df->shape(0) != static_cast<std::size_t>(draws.n_draws()))
    throw nb::value_error("noise_df must have one entry per draw");
  const std::size_t n_quantiles = quantiles.size();
  for (const double q : quantiles)
    if (!(q >= 0.0 && q <= 1.0)) throw nb::value_error("quantiles must be in [0, 1]");
  std::vector<double> mean(n);
  std::vector<double> sd(n);
  std::vector<double> at(n * n_quantiles);
  const PredictOptions options{find_link(link), offset, n_threads};
  SummaryRequest request{std::move(quantiles), noise_scale ? noise_scale->data() : nullptr};
  if (noise_df) request.noise_df = noise_df->data();
  {
    const nb::gil_scoped_release unlocked;
    summarise(draws, data, options, request, {mean.data(), sd.data(), at.data()});
  }
  nb::dict out;
  out["mean"] = to_numpy(std::move(mean));
  out["sd"] = to_numpy(std::move(sd));
  out["quantiles"] = to_numpy(std::move(at), {n_quantiles, n});
  return out;
}

nb::dict replaced(const std::vector<const Draws*>& draws, const std::vector<double>& offsets,
                  const std::string& link, In<std::int64_t, 1> index, const Data& data,
                  const Replacements& replacements, std::int64_t n_threads) {
  const KeptEnsembles ensembles{draws, offsets, find_link(link)};
  const std::size_t n_draws = index.shape(0);
  const std::size_t n_ensembles = draws.size();
  const auto n_replacements = static_cast<std::size_t>(replacements.size());
  std::vector<double> mean(n_draws * n_ensembles);
  std::vector<double> variance(mean.size());
  std::vector<double> change(mean.size() * n_replacements);
  std::vector<double> square(change.size());
  {
    const nb::gil_scoped_release unlocked;
    replace_columns(ensembles, {index.data(), n_draws}, data, replacements, n_threads,
                    {mean.data(), variance.data(), change.data(), square.data()});
  }
  nb::dict out;
  out["mean"] = to_numpy(std::move(mean), {n_draws, n_ensembles});
  out["variance"] = to_numpy(std::move(variance), {n_draws, n_ensembles});
  out["change"] = to_numpy(std::move(change), {n_draws, n_replacements, n_ensembles});
  out["square"] = to_numpy(std::move(square), {n_draws, n_replacements, n_ensembles});
  return out;
}

}  // namespace

void bind_replacements(nb::module_& m) {
  m.def(
      "swap_columns",
      [](const std::vector<const Draws*>& draws, const std::vector<double>& offsets,
         const std::string& link, In<std::int64_t, 1> index, const Data& data, const Data& other,
         std::int64_t n_threads) {
        const Replacements columns = Replacements::columns_of(other);
        return replaced(draws, offsets, link, index, data, columns, n_threads);
      },
      "draws"_a, "offsets"_a, "link"_a, "index"_a, "x"_a, "other"_a, "n_threads"_a = 1,
      "What becomes of predictions if one column is that of another table, for each column and "
      "for the draws of this index.");
  m.def(
      "fix_column",
      [](const std::vector<const Draws*>& draws, const std::vector<double>& offsets,
         const std::string& link, In<std::int64_t, 1> index, const Data& data, const Data& grid,
         std::int64_t column, std::int64_t n_threads) {
        const Replacements constants = Replacements::constants(grid, column);
        return replaced(draws, offsets, link, index, data, constants, n_threads);
      },
      "draws"_a, "offsets"_a, "link"_a, "index"_a, "x"_a, "grid"_a, "column"_a, "n_threads"_a = 1,
      "The same if a column has one value in all rows, for each of its values in a grid.");
}

void bind_draws(nb::module_& m) {
  nb::class_<Draws>(m, "Draws", "Kept ensembles as flat arrays.")
      .def_prop_ro("n_draws", &Draws::n_draws)
      .def_prop_ro("n_trees", &Draws::n_trees)
      .def_prop_ro("nbytes", &Draws::nbytes)
      .def("to_arrays", [](const Draws& draws) { return draws_to_dict(draws); })
      .def_static(
          "from_arrays",
          [](const nb::dict& arrays, std::int64_t p_cont, std::vector<std::uint32_t> n_levels) {
            return draws_from_dict(arrays, "", p_cont, std::move(n_levels));
          },
          "arrays"_a, "p_cont"_a, "n_levels"_a)
      .def("append", &Draws::append, "other"_a)
      .def("predict", &predict, "x"_a, "link"_a = "identity", "offset"_a = 0.0, "n_threads"_a = 1)
      .def("summarise", &summary, "x"_a, "link"_a = "identity", "offset"_a = 0.0,
           "quantiles"_a = std::vector<double>{}, "noise_scale"_a = nb::none(),
           "noise_df"_a = nb::none(), "n_threads"_a = 1)
      .def(
          "leaf_codes",
          [](const Draws& draws, const Data& data, std::int64_t draw, std::int64_t tree) {
            std::vector<std::uint8_t> out(static_cast<std::size_t>(data.n_rows()));
            leaf_codes(draws, data, draw, tree, out.data());
            return to_numpy(std::move(out));
          },
          "x"_a, "draw"_a, "tree"_a);
}

}  // namespace obart
