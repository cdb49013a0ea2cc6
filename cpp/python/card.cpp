#include "python/card.h"

#include <string>

#include "backend/card/card.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace obart {

void bind_card(nb::module_& m) {
  nb::exception<card::CardError>(m, "CardError", PyExc_RuntimeError);
  m.def(
      "card_sources",
      [] {
        nb::dict out;
        for (std::size_t k = 0; k < card::kNumCardSources; ++k)
          out[card::kCardSources[k].name] = nb::str(card::kCardSources[k].text);
        return out;
      },
      "The texts of a card's program by name; the first includes the others.");
  m.def(
      "cuda_device",
      [] {
        const card::CudaDevice found = card::find_cuda_device();
        nb::dict out;
        out["name"] = found.name.c_str();
        out["capability"] = nb::make_tuple(found.major, found.minor);
        out["bytes"] = found.bytes;
        out["processors"] = found.n_processors;
        return out;
      },
      "The first NVIDIA card; raises CardError if there is none.");
  m.def(
      "set_cuda_program",
      [](const nb::bytes& image) {
        card::set_cuda_program(std::string(image.c_str(), image.size()));
      },
      "image"_a, "Give the compiled program for the card, before the first chain on it.");
  m.def("has_cuda_program", &card::has_cuda_program);
  m.def("set_chains_on_card", &card::set_chains_on_card, "n_chains"_a,
        "Say how many chains share the card from now on.");
}

}  // namespace obart
