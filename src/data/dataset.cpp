// Which source a spec names, and how text describes preprocessing.
#include <charconv>
#include <string>

#include "base/fail.hpp"
#include "data/sources.hpp"

namespace espalier {

namespace {

constexpr std::string_view kFashionMnistFolder = "/usr/share/datasets/fashion-mnist";

Result<std::vector<float>> parse_numbers(std::string_view text, std::string_view whole) {
  std::vector<float> numbers;
  while (true) {
    const std::size_t end = std::min(text.find(','), text.size());
    float number = 0;
    const auto [stop, problem] = std::from_chars(text.data(), text.data() + end, number);
    if (problem != std::errc() || stop != text.data() + end)
      return fail(ErrorCode::kInvalidArgument, "preprocess '{}': expected mean=A,B,C;std=A,B,C, found '{}'", whole,
                  text.substr(0, end));
    numbers.push_back(number);
    if (end == text.size()) return numbers;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

Result<Preprocess> parse_preprocess(std::string_view text) {
  Preprocess result;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    const std::string_view part = rest.substr(0, end);
    const std::size_t equals = part.find('=');
    const std::string_view key = part.substr(0, equals);
    if (equals == std::string_view::npos || (key != "mean" && key != "std"))
      return fail(ErrorCode::kInvalidArgument, "preprocess '{}': expected mean=A,B,C;std=A,B,C, found '{}'", text,
                  part);
    ESPALIER_ASSIGN(std::vector<float> numbers, parse_numbers(part.substr(equals + 1), text));
    (key == "mean" ? result.mean : result.std) = std::move(numbers);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  for (const float deviation : result.std)
    if (!(deviation > 0)) return fail(ErrorCode::kInvalidArgument, "preprocess '{}': std must be positive", text);
  return result;
}

Result<Dataset> load_dataset(const std::string& spec, Split split) {
  const std::size_t colon = spec.find(':');
  const std::string kind = spec.substr(0, colon);
  const std::string folder = colon == std::string::npos ? std::string() : spec.substr(colon + 1);
  if (kind == "fashion-mnist")
    return data::load_fashion_mnist(folder.empty() ? std::string(kFashionMnistFolder) : folder, split);
  if (kind == "cifar10" && !folder.empty()) return data::load_cifar10(folder, split);
  if (spec.ends_with(".npz")) return data::load_npz(spec);
  return fail(ErrorCode::kInvalidArgument, "data '{}': expected fashion-mnist, cifar10:DIR or a file F.npz", spec);
}

}  // namespace espalier
