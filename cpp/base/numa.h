// Where threads run, on machines whose memory has several parts (nodes), each near some of the
// processors. Best effort, on Linux only.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace obart {

// Processors that this thread may run on; 0: unknown.
std::int64_t n_allowed_processors();

// Numbers from a list like "0-3,8,10-11", as Linux writes it; none if it is no such list.
std::vector<int> read_processor_list(std::string_view text);

// The processors to which the threads of a team keep; none: any. Their places on a node are taken
// as long as it, or a copy, exists.
class Placement {
 public:
  // The node of the calling thread, if there are several nodes, the user has not chosen among the
  // processors, and the node has room for so many threads besides those of other teams.
  static Placement near_caller(std::int64_t n_threads);

  void apply() const;  // to the calling thread

 private:
  std::vector<int> processors_;
  std::shared_ptr<void> places_;
};

}  // namespace obart
