// The kernels of a card, compiled when they are first needed.
#include "backend/card/route_kernel.h"
#include "backend/card/row_kernels.h"
#include "backend/card/update_kernel.h"

using namespace obart::card;

inline ThreadBlock here() {
  return {static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y),
          static_cast<int>(blockDim.x) / kWarpLanes};
}

extern "C" __global__ void __launch_bounds__(kRouteWarps* kWarpLanes)
    obart_route(const __grid_constant__ RouteArgs args) {
  route_block(args, here());
}

template <bool Weighted, bool Many>
inline void update(const UpdateArgs& args) {
  extern __shared__ __align__(16) char shared[];
  const ThreadBlock threads = here();
  const UpdateMemory memory = lay_out(args, threads.index, shared);
  begin_update(args, memory, threads);
  for (int m = 0; m < args.n_trees; ++m) {
    sum_and_send<Weighted, Many>(args, memory, m, threads);
    total_values(args, memory, m, threads);
    decide_and_change(args, memory, m, threads);
  }
  end_update(args, memory, threads);
}

#define OBART_UPDATE(name, weighted, many)                                         \
  extern "C" __global__ void __launch_bounds__(kMostWarps* kWarpLanes, 1)       \
      name(const __grid_constant__ UpdateArgs args) {                              \
    update<weighted, many>(args);                                                  \
  }
OBART_UPDATE(obart_update, false, false)
OBART_UPDATE(obart_update_many, false, true)
OBART_UPDATE(obart_update_weighted, true, false)
OBART_UPDATE(obart_update_weighted_many, true, true)

extern "C" __global__ void __launch_bounds__(kRowWarps* kWarpLanes)
    obart_refresh(const __grid_constant__ RefreshArgs args) {
  refresh_block(args, here());
}

extern "C" __global__ void __launch_bounds__(kRowWarps* kWarpLanes)
    obart_scale(const __grid_constant__ ScaleArgs args) {
  scale_block(args, here());
}

extern "C" __global__ void obart_sum(const __grid_constant__ SumArgs args) {
  sum_block(args, here());
}

extern "C" __global__ void __launch_bounds__(kRowWarps* kWarpLanes)
    obart_order(const __grid_constant__ OrderArgs args) {
  order_block(args, here());
}
