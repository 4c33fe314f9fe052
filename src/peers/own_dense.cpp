// Our own dense: the same kernels with a full pattern.
#include <espalier/matmul.hpp>
#include <espalier/version.hpp>
#include <memory>

#include "peers/product_peer.hpp"

namespace espalier::peers {

std::vector<ProductPeer> own_dense(const DenseProblem& problem) {
  const Tensor w = Tensor::view(problem.type, {problem.m, problem.k}, problem.w);
  auto plan = plan_dense_matmul(
      w,
      {.n = problem.n, .x = problem.x_type(), .y = problem.y_type(), .threads = problem.threads, .isa = problem.isa});
  if (!plan) return {};
  const std::shared_ptr<Executor> executor = make_executor(problem.threads);
  return {{"own_dense", version(), [plan = *plan, executor, problem] {
             static_cast<void>(plan.run(ConstMatrix(problem.x, problem.k, problem.n, 0, problem.x_type()),
                                        MutableMatrix(problem.y, problem.m, problem.n, 0, problem.y_type()), *executor)
                                   .has_value());
           }}};
}

}  // namespace espalier::peers
