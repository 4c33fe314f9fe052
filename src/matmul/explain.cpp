// A plan in words.
#include <fmt/format.h>

#include <algorithm>

#include "matmul/plan.hpp"

namespace espalier {

std::string MatmulPlan::explain() const {
  const Impl& impl = *impl_;
  const Product& product = impl.product;
  std::string text = fmt::format("{} x {} {}, density {:.4f}, planned for n = {}\n", product.m, product.k, impl.pattern,
                                 impl.density, impl.options.n);
  text += fmt::format("kernel     {}{}\n", impl.kernel, impl.choice.dense ? " on a full pattern" : "");
  text += fmt::format("packing    {} columns of x at a time, k in {} part{}, weights {:.1f} KiB\n", product.group_cols,
                      product.parts.size(), product.parts.size() == 1 ? "" : "s",
                      static_cast<double>(impl.weights->bytes()) / 1024);
  text += "split      workers take column groups of their own, or strips of rows with as many kept blocks each\n";
  text += fmt::format("predicted  {:.4f} ms on one core", impl.choice.predicted_ms);
  if (impl.choice.dense && impl.choice.sparse_ms > 0) text += fmt::format(" (sparse {:.4f} ms)", impl.choice.sparse_ms);
  if (!impl.choice.dense && impl.choice.dense_ms > 0) text += fmt::format(" (dense {:.4f} ms)", impl.choice.dense_ms);
  text += "\n";
  // What was modelled, nearest the choice on top; what could not run is only counted: rejected() has the reasons.
  std::vector<RejectedCandidate> rejected = impl.choice.rejected;
  const auto modelled = std::stable_partition(rejected.begin(), rejected.end(),
                                              [](const RejectedCandidate& c) { return c.predicted_ms > 0; });
  std::stable_sort(rejected.begin(), modelled, [](const RejectedCandidate& a, const RejectedCandidate& b) {
    return a.predicted_ms < b.predicted_ms;
  });
  for (auto candidate = rejected.begin(); candidate != modelled; ++candidate)
    text +=
        fmt::format("rejected   {}: {} ({:.4f} ms)\n", candidate->kernel, candidate->reason, candidate->predicted_ms);
  if (modelled != rejected.end())
    text += fmt::format("rejected   {} kernels for other types, patterns or machines\n", rejected.end() - modelled);
  return text;
}

}  // namespace espalier
