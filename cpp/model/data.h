// The predictors: padded columns, shared read-only by all chains.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/blocks.h"
#include "base/planted_bugs.h"

namespace obart {

class Data {
 public:
  // x_cont: p_cont columns of n values, NaN is missing. x_cat: p_cat columns of n codes; a code of
  // n_levels[j] or more is a level that training did not see and is stored as n_levels[j]. Row i
  // of the data is row order[i] of the columns, or row i without an order.
  Data(std::int64_t n_rows, std::int64_t p_cont, const float* x_cont, std::int64_t p_cat,
       const std::uint32_t* x_cat, std::vector<std::uint32_t> n_levels,
       const std::int64_t* order = nullptr)
      : n_rows_(n_rows),
        n_rows_in_all_(n_rows),
        n_padded_((n_rows + kGroupRows - 1) / kGroupRows * kGroupRows),
        stride_(n_padded_ + kLineFloats),
        p_cont_(p_cont),
        p_cont_of_table_(p_cont),
        p_cat_(p_cat),
        cont_(make_columns<float>(p_cont * stride_)),
        cat_(make_columns<std::uint32_t>(p_cat * n_padded_)),
        n_levels_(std::move(n_levels)),
        has_missing_(static_cast<std::size_t>(p_cont), 0) {
    if (static_cast<std::int64_t>(n_levels_.size()) != p_cat)
      throw std::invalid_argument("n_levels must have one entry per categorical column");
    for (std::int64_t i = 0; order != nullptr && i < n_rows; ++i)
      if (order[i] < 0 || order[i] >= n_rows)
        throw std::invalid_argument("order must have numbers of rows");
    const auto from = [&](std::int64_t i) { return order != nullptr ? order[i] : i; };
    for (std::int64_t j = 0; j < p_cont; ++j) {
      float* column = cont_->data() + j * stride_;
      for (std::int64_t i = 0; i < n_rows; ++i) {
        column[i] = x_cont[j * n_rows + from(i)];
        if (std::isnan(column[i])) has_missing_[static_cast<std::size_t>(j)] = 1;
      }
    }
    for (std::int64_t j = 0; j < p_cat; ++j) {
      std::uint32_t* column = cat_->data() + j * n_padded_;
      const std::uint32_t levels = n_levels_[static_cast<std::size_t>(j)];
      for (std::int64_t i = 0; i < n_rows; ++i) {
        const std::uint32_t code = x_cat[j * n_rows + from(i)];
        column[i] = code < levels ? code : levels;
      }
    }
  }

  // Of the same shape, but without columns: to check what belongs to such a table.
  static Data without_columns(std::int64_t n_rows, std::int64_t p_cont,
                              std::vector<std::uint32_t> n_levels) {
    Data data(n_rows, 0, nullptr, 0, nullptr, {});
    data.p_cont_ = data.p_cont_of_table_ = p_cont;
    data.p_cat_ = static_cast<std::int64_t>(n_levels.size());
    data.n_levels_ = std::move(n_levels);
    data.has_missing_.resize(static_cast<std::size_t>(p_cont), 0);
    return data;
  }

  // The same table, whose columns it shares, for rules that do not see its last continuous columns.
  Data without_last(std::int64_t n_columns) const {
    if (OBART_BUG(causal_hidden_column_seen)) n_columns = 0;
    if (OBART_BUG(causal_column_hidden_from_all)) n_columns = 1;
    Data data(*this);
    data.p_cont_ = std::max<std::int64_t>(p_cont_ - n_columns, 0);
    return data;
  }

  // The same rows as a part of a larger table, whose other rows are elsewhere: the number of its
  // first row there, of all rows, and the columns in which some row has no value.
  Data as_part(std::int64_t first_row, std::int64_t n_rows_in_all,
               std::vector<std::uint8_t> has_missing) const {
    if (first_row < 0 || n_rows_in_all < first_row + n_rows_ ||
        has_missing.size() != has_missing_.size())
      throw std::invalid_argument("a part must lie within its table, and have its columns");
    Data data(*this);
    data.first_row_ = first_row;
    data.n_rows_in_all_ = n_rows_in_all;
    data.has_missing_ = std::move(has_missing);
    return data;
  }

  std::int64_t n_rows() const { return n_rows_; }
  std::int64_t first_row() const { return first_row_; }
  std::int64_t n_rows_in_all() const { return n_rows_in_all_; }  // where others are elsewhere, too
  bool is_part() const { return n_rows_ < n_rows_in_all_; }
  std::int64_t n_padded() const { return n_padded_; }
  std::int64_t n_groups() const { return n_padded_ / kGroupRows; }
  std::int64_t n_blocks() const { return count_blocks(n_groups()); }
  std::int64_t p_cont() const { return p_cont_; }
  std::int64_t p_cont_of_table() const { return p_cont_of_table_; }  // hidden ones too
  std::int64_t p_cat() const { return p_cat_; }
  const float* cont(std::int64_t j) const { return cont_->data() + j * stride_; }
  const std::uint32_t* cat(std::int64_t j) const { return cat_->data() + j * n_padded_; }
  std::uint32_t n_levels(std::int64_t j) const { return n_levels_[static_cast<std::size_t>(j)]; }
  const std::vector<std::uint32_t>& n_levels() const { return n_levels_; }
  bool has_missing(std::int64_t j) const { return has_missing_[static_cast<std::size_t>(j)] != 0; }

 private:
  template <class T>
  using Columns = std::shared_ptr<AlignedBuffer<T>>;
  template <class T>
  static Columns<T> make_columns(std::int64_t size) {
    return std::make_shared<AlignedBuffer<T>>(static_cast<std::size_t>(size));
  }

  // A line of the cache more than a column has rows, or some numbers of rows would put the same
  // rows of all columns into the same few places of the cache.
  static constexpr std::int64_t kLineFloats = 16;
  std::int64_t first_row_ = 0;
  std::int64_t n_rows_, n_rows_in_all_, n_padded_, stride_, p_cont_, p_cont_of_table_, p_cat_;
  Columns<float> cont_;
  Columns<std::uint32_t> cat_;
  std::vector<std::uint32_t> n_levels_;
  std::vector<std::uint8_t> has_missing_;
};

// Words of 32 bits that hold one bit per level, and one for levels unseen in training.
inline std::uint32_t level_words(std::uint32_t n_levels) { return n_levels / 32 + 1; }
// Of the column with most levels.
inline std::uint32_t most_level_words(const std::vector<std::uint32_t>& n_levels) {
  std::uint32_t words = 0;
  for (const std::uint32_t n : n_levels) words = std::max(words, level_words(n));
  return words;
}

}  // namespace obart
