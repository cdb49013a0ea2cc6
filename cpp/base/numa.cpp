#include "base/numa.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>

#ifdef __linux__
#include <sched.h>
#endif

namespace obart {
namespace {

constexpr int kMostProcessors = 1 << 16;

bool read_number(std::string_view& text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0 || number >= kMostProcessors) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace

std::vector<int> read_processor_list(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  std::vector<int> numbers;
  while (!text.empty()) {
    int first = 0;
    if (!read_number(text, first)) return {};
    int last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      if (!read_number(text, last)) return {};
    }
    for (int number = first; number <= last; ++number) numbers.push_back(number);
    if (text.empty()) break;
    if (!text.starts_with(',') || text.size() == 1) return {};
    text.remove_prefix(1);
  }
  return numbers;
}

#ifdef __linux__

namespace {

struct Node {
  std::vector<int> processors;
  std::int64_t n_taken = 0;  // places for threads
};

std::vector<int> read_list_file(const std::string& path) {
  std::ifstream file(path);
  return read_processor_list(std::string(std::istreambuf_iterator<char>(file), {}));
}

std::vector<Node> read_nodes() {
  const std::string folder = "/sys/devices/system/node/";
  std::vector<Node> nodes;
  for (const int number : read_list_file(folder + "online")) {
    Node node{read_list_file(folder + "node" + std::to_string(number) + "/cpulist")};
    if (!node.processors.empty()) nodes.push_back(std::move(node));  // some have memory only
  }
  return nodes;
}

std::vector<int> allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return {};
  std::vector<int> numbers;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) numbers.push_back(cpu);
  return numbers;
}

struct Nodes {
  std::mutex mutex;
  std::vector<Node> list = read_nodes();
};

// Never destroyed: a team may end after the program's own objects.
Nodes& nodes() {
  static auto* const all = new Nodes;
  return *all;
}

}  // namespace

std::int64_t n_allowed_processors() {
  return static_cast<std::int64_t>(allowed_processors().size());
}

Placement Placement::near_caller(std::int64_t n_threads) {
  Nodes& all = nodes();
  if (all.list.size() < 2) return {};
  if (allowed_processors() != read_list_file("/sys/devices/system/cpu/online")) return {};
  const std::lock_guard lock(all.mutex);
  const int here = sched_getcpu();
  for (Node& node : all.list) {
    if (std::ranges::find(node.processors, here) == node.processors.end()) continue;
    if (node.n_taken + n_threads > static_cast<std::int64_t>(node.processors.size())) return {};
    node.n_taken += n_threads;
    Placement placement;
    placement.processors_ = node.processors;
    placement.places_ = std::shared_ptr<void>(&node, [&all, n_threads](void* place) {
      const std::lock_guard release(all.mutex);
      static_cast<Node*>(place)->n_taken -= n_threads;
    });
    return placement;
  }
  return {};
}

void Placement::apply() const {
  if (processors_.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : processors_)
    if (cpu < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(cpu), &set);
  static_cast<void>(sched_setaffinity(0, sizeof(set), &set));
}

#else

std::int64_t n_allowed_processors() { return 0; }
Placement Placement::near_caller(std::int64_t) { return {}; }
void Placement::apply() const {}

#endif

}  // namespace obart
