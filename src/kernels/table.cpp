// All rows of all families, one span. A new family adds its rows here.
#include <algorithm>
#include <vector>

#include "kernels/kernel_info.hpp"
#include "kernels/spmm_amx/table.hpp"
#include "kernels/spmm_arrival/table.hpp"
#include "kernels/spmm_bf16/table.hpp"
#include "kernels/spmm_f32/table.hpp"
#include "kernels/spmm_f64/table.hpp"
#include "kernels/spmm_int8/table.hpp"
#include "kernels/spmm_nm/table.hpp"

namespace espalier::kernels {

std::span<const KernelInfo> spmm_kernels() {
  static const std::vector<KernelInfo> rows = [] {
    std::vector<KernelInfo> all;
    for (const std::span<const KernelInfo> family :
         {spmm_f32_kernels(), spmm_f64_kernels(), spmm_bf16_kernels(), spmm_int8_kernels(), spmm_nm_kernels(),
          spmm_amx_kernels(), spmm_arrival_kernels()})
      all.insert(all.end(), family.begin(), family.end());
    return all;
  }();
  return rows;
}

const KernelInfo* find_kernel(std::string_view name) {
  const std::span<const KernelInfo> rows = spmm_kernels();
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const KernelInfo& row) { return row.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace espalier::kernels
