// `espalier eval`: accuracy on a labelled set.
#include <espalier/data.hpp>
#include <memory>

#include "planned_network.hpp"
#include "progress.hpp"

namespace espalier::cli {

namespace {

struct EvalCommand {
  NetworkOptions network;
  std::string data;
  std::optional<Preprocess> preprocess;
  std::int64_t limit = 0;
};

// Examples in one run where the model leaves the batch open.
constexpr std::int64_t kBatch = 50;

Status run_eval(Context& context, EvalCommand& options) {
  auto data = load_dataset(options.data, Split::kTest);
  if (!data) return tl::unexpected<Error>(data.error());
  if (options.preprocess) data->preprocess = *options.preprocess;
  const std::string& file = options.network.file;
  if (!is_plan_file(file) && !options.network.batch) options.network.batch = kBatch;
  const auto plan = load_or_compile(context, options.network);
  if (!plan) return tl::unexpected<Error>(plan.error());
  const std::int64_t total = options.limit > 0 ? std::min(options.limit, data->count()) : data->count();
  Progress progress(fmt::format("evaluating {}", file), total);
  std::int64_t before = 0;
  AccuracyOptions accuracy_options{.limit = options.limit, .threads = context.common.threads};
  accuracy_options.progress = [&](std::int64_t done) {
    progress.advance(done - before);
    before = done;
  };
  const auto accuracy = measure_accuracy(*plan, *data, accuracy_options);
  if (!accuracy) return error_in(file, accuracy.error());
  context.json["top1"] = accuracy->top1;
  context.json["count"] = accuracy->count;
  context.json["seconds"] = accuracy->seconds;
  context.print("top-1 {:.2f} % of {} examples of {} in {:.2f} s", accuracy->top1, accuracy->count, data->name,
                accuracy->seconds);
  return {};
}

}  // namespace

void add_eval(CLI::App& app, Context& context) {
  CLI::App* command = add_command(app, context, "eval", "Measure accuracy on a labelled data set",
                                  "espalier eval half.onnx --data fashion-mnist");
  const auto options = std::make_shared<EvalCommand>();
  add_network(command, options->network);
  add_shape_options(command, options->network);
  command->add_option("--data", options->data, "fashion-mnist, cifar10:DIR or F.npz with `labels`")
      ->required()
      ->type_name("D");
  add_parsed(command, "--preprocess", options->preprocess, parse_preprocess,
             "Of images after dividing by 255, e.g. mean=0.485,0.456,0.406;std=0.229,0.224,0.225")
      ->type_name("mean=..;std=..");
  command->add_option("--limit", options->limit, "Use only the first N examples")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->type_name("N");
  set_action(command, context, [options](Context& c) { return run_eval(c, *options); });
}

}  // namespace espalier::cli
