// A graphics card, or what stands in for one: memory of its own, and the kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "backend/card/tasks.h"

namespace obart::card {

// What a card could not do, in words for users.
struct CardError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Work is done in the order in which it is asked for. Each chain has one.
class Card {
 public:
  virtual ~Card() = default;
  virtual std::string name() const = 0;

  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  // The source may change once this returns.
  virtual void copy_in(void* to, const void* from, std::size_t bytes) = 0;
  virtual void copy_out(void* to, const void* from, std::size_t bytes) = 0;
  virtual void clear(void* memory, std::size_t bytes) = 0;

  // How many blocks of so many warps with so many bytes of shared memory can work on the trees of
  // this chain at once; 0 if not even one.
  virtual int most_parts(std::int64_t shared_bytes, int n_warps) const = 0;

  virtual void route(const RouteArgs& args, int n_blocks, int n_groups) = 0;
  virtual void update(const UpdateArgs& args, std::int64_t shared_bytes) = 0;
  virtual void refresh(const RefreshArgs& args, int n_blocks) = 0;
  virtual void scale(const ScaleArgs& args, int n_blocks) = 0;
  virtual void sum(const SumArgs& args, int n_blocks) = 0;
  virtual void order(const OrderArgs& args, int n_blocks, int n_columns) = 0;
};

// The kernels as plain C++ on the CPU, slowly: for tests, and for machines without a card.
std::unique_ptr<Card> make_plain_card();

// The first NVIDIA card. Throws CardError where there is none, or no program for it.
std::unique_ptr<Card> make_cuda_card();

// What a program for the card is made of: the texts by name, of which the first is to be compiled.
struct SourceFile {
  const char* name;
  const char* text;
};
extern const SourceFile kCardSources[];
extern const std::size_t kNumCardSources;

struct CudaDevice {
  std::string name;
  int major, minor;  // compute capability
  std::size_t bytes;
  int n_processors;
};
// Throws CardError that says what is missing.
CudaDevice find_cuda_device();
// The compiled program, which chains that start later use.
void set_cuda_program(std::string image);
bool has_cuda_program();
// How many chains share the card at the same time: each gets its part of the processors.
void set_chains_on_card(int n_chains);

// Memory on a card that is given back.
class Memory {
 public:
  Memory() = default;
  Memory(Card& card, std::size_t bytes) : card_(&card), bytes_(bytes) {
    at_ = card.allocate(bytes);
  }
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Memory() {
    if (at_ != nullptr) card_->release(at_);
  }

  template <class T>
  T* as() const {
    return static_cast<T*>(at_);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  void swap(Memory& other) noexcept {
    std::swap(card_, other.card_);
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
  }
  Card* card_ = nullptr;
  void* at_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace obart::card
