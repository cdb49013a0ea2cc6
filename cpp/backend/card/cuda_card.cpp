// An NVIDIA card through its driver, which is loaded when it is first asked for: nothing is linked,
// and a machine without a card runs the same package.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "backend/card/card.h"
#include "backend/card/route_kernel.h"
#include "backend/card/row_kernels.h"
#include "backend/card/update_kernel.h"

#ifdef __linux__
#include <dlfcn.h>
#endif

namespace obart::card {
namespace {

// The part of the driver's interface that is used here.
using Result = int;
using Handle = void*;
using Address = unsigned long long;
constexpr Result kSuccess = 0;
constexpr Result kOutOfMemory = 2;
enum Attribute : int {
  kProcessors = 16,
  kMajor = 75,
  kMinor = 76,
  kSharedBytes = 97,  // that a block of threads can ask for
};
constexpr int kMaxSharedOfFunction = 8;

#define OBART_DRIVER(X)                                                                            \
  X(cuInit, "cuInit", (unsigned))                                                                  \
  X(cuDeviceGetCount, "cuDeviceGetCount", (int*))                                                  \
  X(cuDeviceGet, "cuDeviceGet", (int*, int))                                                       \
  X(cuDeviceGetName, "cuDeviceGetName", (char*, int, int))                                         \
  X(cuDeviceTotalMem, "cuDeviceTotalMem_v2", (std::size_t*, int))                                  \
  X(cuDeviceGetAttribute, "cuDeviceGetAttribute", (int*, int, int))                                \
  X(cuPrimaryRetain, "cuDevicePrimaryCtxRetain", (Handle*, int))                                   \
  X(cuCtxSetCurrent, "cuCtxSetCurrent", (Handle))                                                  \
  X(cuModuleLoadData, "cuModuleLoadData", (Handle*, const void*))                                  \
  X(cuModuleGetFunction, "cuModuleGetFunction", (Handle*, Handle, const char*))                    \
  X(cuFuncSetAttribute, "cuFuncSetAttribute", (Handle, int, int))                                  \
  X(cuOccupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor", (int*, Handle, int, std::size_t))  \
  X(cuMemAlloc, "cuMemAlloc_v2", (Address*, std::size_t))                                          \
  X(cuMemFree, "cuMemFree_v2", (Address))                                                          \
  X(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (Address, const void*, std::size_t, Handle))        \
  X(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void*, Address, std::size_t, Handle))              \
  X(cuMemsetD8Async, "cuMemsetD8Async", (Address, unsigned char, std::size_t, Handle))             \
  X(cuStreamCreate, "cuStreamCreate", (Handle*, unsigned))                                         \
  X(cuStreamDestroy, "cuStreamDestroy_v2", (Handle))                                               \
  X(cuStreamSynchronize, "cuStreamSynchronize", (Handle))                                          \
  X(cuLaunchKernel, "cuLaunchKernel",                                                              \
    (Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void**, \
     void**))                                                                                      \
  X(cuLaunchCooperativeKernel, "cuLaunchCooperativeKernel",                                        \
    (Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle,         \
     void**))                                                                                      \
  X(cuGetErrorString, "cuGetErrorString", (Result, const char**))

struct Driver {
#define OBART_DECLARE(name, symbol, arguments) Result(*name) arguments = nullptr;
  OBART_DRIVER(OBART_DECLARE)
#undef OBART_DECLARE

  Driver() {
#ifdef __linux__
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
      throw CardError("there is no NVIDIA driver on this machine (libcuda.so.1 is missing)");
#define OBART_LOAD(name, symbol, arguments)                             \
  name = reinterpret_cast<Result(*) arguments>(dlsym(library, symbol)); \
  if (name == nullptr)                                                  \
    throw CardError("the NVIDIA driver of this machine is too old: it has no " symbol);
    OBART_DRIVER(OBART_LOAD)
#undef OBART_LOAD
    check(cuInit(0), "start the NVIDIA driver");
#else
    throw CardError("cards are supported on Linux only");
#endif
  }

  void check(Result result, const char* what) const {
    if (result == kSuccess) return;
    const char* words = nullptr;
    cuGetErrorString(result, &words);
    const std::string reason = words != nullptr ? words : "error " + std::to_string(result);
    if (result == kOutOfMemory)
      throw CardError("the card has not enough memory: could not " + std::string(what) +
                      ". Fit fewer rows, trees or chains at a time, or use device=\"cpu\"");
    throw CardError("could not " + std::string(what) + " on the card: " + reason);
  }
};

const Driver& driver() {
  static const Driver loaded;
  return loaded;
}

int first_device() {
  const Driver& d = driver();
  int n = 0;
  d.check(d.cuDeviceGetCount(&n), "look for cards");
  if (n == 0) throw CardError("this machine has an NVIDIA driver but no card");
  int device = 0;
  d.check(d.cuDeviceGet(&device, 0), "open");
  return device;
}

int attribute(int device, int which) {
  int value = 0;
  driver().check(driver().cuDeviceGetAttribute(&value, which, device), "ask for attributes");
  return value;
}

std::mutex program_lock;
std::string program_image;
std::atomic<int> chains_on_card{1};

// The program in the card's context, which all chains share and which lives as long as the process.
struct Program {
  Handle context = nullptr, module = nullptr;
  Handle route = nullptr, update[2][2] = {}, refresh = nullptr, scale = nullptr, sum = nullptr,
         order = nullptr;
  int n_processors = 0, most_shared = 0;

  Program() {
    const Driver& d = driver();
    const int device = first_device();
    n_processors = attribute(device, kProcessors);
    most_shared = attribute(device, kSharedBytes) - 1024;  // some is the system's
    d.check(d.cuPrimaryRetain(&context, device), "start a context");
    d.check(d.cuCtxSetCurrent(context), "enter the context");
    const std::lock_guard lock(program_lock);
    if (program_image.empty()) throw CardError("the kernels have not been compiled");
    d.check(d.cuModuleLoadData(&module, program_image.data()), "load the kernels");
    const auto find = [&](Handle& function, const char* name) {
      d.check(d.cuModuleGetFunction(&function, module, name), "find a kernel");
    };
    find(route, "obart_route");
    find(update[0][0], "obart_update");
    find(update[0][1], "obart_update_many");
    find(update[1][0], "obart_update_weighted");
    find(update[1][1], "obart_update_weighted_many");
    find(refresh, "obart_refresh");
    find(scale, "obart_scale");
    find(sum, "obart_sum");
    find(order, "obart_order");
    for (const auto& kernels : update)
      for (Handle kernel : kernels)
        d.check(d.cuFuncSetAttribute(kernel, kMaxSharedOfFunction, most_shared), "ask for memory");
  }
};

const Program& program() {
  static const Program loaded;
  return loaded;
}

class CudaCard final : public Card {
 public:
  CudaCard() : d_(driver()), program_(program()) {
    enter();
    d_.check(d_.cuStreamCreate(&stream_, 1), "start a stream");
  }
  ~CudaCard() override {
    d_.cuCtxSetCurrent(program_.context);
    d_.cuStreamDestroy(stream_);
  }
  CudaCard(const CudaCard&) = delete;
  CudaCard& operator=(const CudaCard&) = delete;

  std::string name() const override { return "cuda"; }
  void* allocate(std::size_t bytes) override {
    enter();
    Address at = 0;
    d_.check(d_.cuMemAlloc(&at, std::max<std::size_t>(bytes, 16)), "allocate memory");
    return reinterpret_cast<void*>(at);
  }
  void release(void* memory) noexcept override {
    d_.cuCtxSetCurrent(program_.context);
    d_.cuStreamSynchronize(stream_);
    d_.cuMemFree(reinterpret_cast<Address>(memory));
  }
  void copy_in(void* to, const void* from, std::size_t bytes) override {
    enter();
    d_.check(d_.cuMemcpyHtoDAsync(reinterpret_cast<Address>(to), from, bytes, stream_), "copy");
  }
  void copy_out(void* to, const void* from, std::size_t bytes) override {
    enter();
    d_.check(d_.cuMemcpyDtoHAsync(to, reinterpret_cast<Address>(from), bytes, stream_), "copy");
    d_.check(d_.cuStreamSynchronize(stream_), "finish the work");
  }
  void clear(void* memory, std::size_t bytes) override {
    enter();
    d_.check(d_.cuMemsetD8Async(reinterpret_cast<Address>(memory), 0, bytes, stream_), "clear");
  }
  int most_parts(std::int64_t shared_bytes, int n_warps) const override {
    if (shared_bytes > program_.most_shared) return 0;
    d_.cuCtxSetCurrent(program_.context);
    int fewest = 1 << 20;
    for (const auto& kernels : program_.update)
      for (Handle kernel : kernels) {
        int here = 0;
        d_.check(d_.cuOccupancy(&here, kernel, n_warps * kWarpLanes,
                                static_cast<std::size_t>(shared_bytes)),
                 "plan the work");
        fewest = std::min(fewest, here);
      }
    return fewest * program_.n_processors / std::max(1, chains_on_card.load());
  }

  void route(const RouteArgs& args, int n_blocks, int n_groups) override {
    launch(program_.route, args, n_blocks, n_groups, kRouteWarps);
  }
  // All blocks of threads are there at once, because they wait for each other.
  void update(const UpdateArgs& args, std::int64_t shared_bytes) override {
    enter();
    UpdateArgs copy = args;
    void* arguments[] = {&copy};
    const Handle kernel =
        program_.update[args.weight != nullptr ? 1 : 0][shares_of(args).has_many() ? 1 : 0];
    d_.check(d_.cuLaunchCooperativeKernel(kernel, static_cast<unsigned>(args.n_parts), 1, 1,
                                          static_cast<unsigned>(args.n_warps * kWarpLanes), 1, 1,
                                          static_cast<unsigned>(shared_bytes), stream_, arguments),
             "update the trees");
  }
  void refresh(const RefreshArgs& args, int n_blocks) override {
    launch(program_.refresh, args, n_blocks, 1, kRowWarps);
  }
  void scale(const ScaleArgs& args, int n_blocks) override {
    launch(program_.scale, args, n_blocks, 1, kRowWarps);
  }
  void sum(const SumArgs& args, int n_blocks) override {
    launch(program_.sum, args, n_blocks, 1, 1);
  }
  void order(const OrderArgs& args, int n_blocks, int n_columns) override {
    launch(program_.order, args, n_blocks, n_columns, kRowWarps);
  }

 private:
  void enter() const { d_.check(d_.cuCtxSetCurrent(program_.context), "enter the context"); }
  template <class Args>
  void launch(Handle kernel, const Args& args, int n, int n_rows, int n_warps) {
    enter();
    Args copy = args;
    void* arguments[] = {&copy};
    d_.check(d_.cuLaunchKernel(kernel, static_cast<unsigned>(n), static_cast<unsigned>(n_rows), 1,
                               static_cast<unsigned>(n_warps * kWarpLanes), 1, 1, 0, stream_,
                               arguments, nullptr),
             "start a kernel");
  }

  const Driver& d_;
  const Program& program_;
  Handle stream_ = nullptr;
};

}  // namespace

std::unique_ptr<Card> make_cuda_card() { return std::make_unique<CudaCard>(); }

CudaDevice find_cuda_device() {
  const Driver& d = driver();
  const int device = first_device();
  CudaDevice found{};
  char name[256] = {};
  d.check(d.cuDeviceGetName(name, sizeof name - 1, device), "ask for the name");
  found.name = name;
  found.major = attribute(device, kMajor);
  found.minor = attribute(device, kMinor);
  found.n_processors = attribute(device, kProcessors);
  d.check(d.cuDeviceTotalMem(&found.bytes, device), "ask for the memory");
  return found;
}

void set_cuda_program(std::string image) {
  const std::lock_guard lock(program_lock);
  program_image = std::move(image);
}

bool has_cuda_program() {
  const std::lock_guard lock(program_lock);
  return !program_image.empty();
}

void set_chains_on_card(int n_chains) { chains_on_card = n_chains; }

}  // namespace obart::card
