// Prediction from kept ensembles, streaming over rows: draws x rows is never held unless asked for.
#pragma once

#include <cstdint>
#include <vector>

#include "draws/draws.h"
#include "draws/link.h"
#include "model/data.h"

namespace obart {

struct PredictOptions {
  const Link& link;
  double offset = 0.0;  // of the link
  std::int64_t n_threads = 1;
};

// out: n_draws x n_rows.
void predict_draws(const Draws& draws, const Data& data, const PredictOptions& options, float* out);

struct SummaryRequest {
  std::vector<double> quantiles;  // increasing, in [0, 1]
  // n_draws entries: of the mixture of f_d + noise_scale_d e, not of f_d
  const double* noise_scale = nullptr;
  // As many: the degrees of freedom of e, if it is Student's t; otherwise it is normal.
  const double* noise_df = nullptr;
};
struct SummaryOutput {
  double* mean;       // n_rows
  double* sd;         // n_rows; of the draws, or of the mixture
  double* quantiles;  // n_quantiles x n_rows
};
void summarise(const Draws& draws, const Data& data, const PredictOptions& options,
               const SummaryRequest& request, const SummaryOutput& out);

// Leaf number, in preorder, of each row in one tree of one draw; as if its rules were hard.
void leaf_codes(const Draws& draws, const Data& data, std::int64_t draw, std::int64_t tree,
                std::uint8_t* out);

}  // namespace obart
