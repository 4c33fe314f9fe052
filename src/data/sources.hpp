// One function per source of data.
#pragma once

#include <espalier/data.hpp>
#include <string>

namespace espalier::data {

Result<Dataset> load_fashion_mnist(const std::string& directory, Split split);
Result<Dataset> load_cifar10(const std::string& directory, Split split);
Result<Dataset> load_npz(const std::string& path);

// Labels from a tensor of rank 1 of any integer type. `where` starts the message.
Result<std::vector<std::int64_t>> labels_from(const Tensor& tensor, const std::string& where);

}  // namespace espalier::data
