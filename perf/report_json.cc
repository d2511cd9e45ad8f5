// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "report_json.h"

namespace perf {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormatVersion = 3;

Json describeConfig(const Options& options) {
  Json config = {{"nthreads", options.threads},
                 {"ngpus", options.gpus_per_thread},
                 {"minimum_bytes", options.sizes.min_bytes},
                 {"maximum_bytes", options.sizes.max_bytes}};
  if (options.sizes.factor) {
    config["step_factor"] = options.sizes.factor;
  } else {
    config["step_bytes"] = options.sizes.step_bytes;
  }
  config.update(Json{{"warmup_iters", options.warmup_iters},
                     {"iterations", options.iters},
                     {"aggregated_iterations", options.agg_iters},
                     {"validation", options.check_iters},
                     {"average", static_cast<int>(options.time_over)},
                     {"blocking", static_cast<int>(options.blocking)},
                     {"parallel_init", options.parallel_init},
                     {"report_cputime", options.report_cpu_time}});
  return config;
}

Json describeSide(const Measurement& side, bool cpu_time) {
  Json json = Json::object();
  if (side.timed) {
    json[cpu_time ? "cpu_time" : "time"] = cpu_time ? side.cpu_us : side.time_us;
    json["alg_bw"] = side.alg_gbps;
    json["bus_bw"] = side.bus_gbps;
  }
  // Absent results are null, as N/A in the table.
  json["nwrong"] = side.checked ? Json(static_cast<uint64_t>(side.wrong)) : Json(nullptr);
  return json;
}

}  // namespace

JsonReport::JsonReport(const Options& options) : options_(options), file_("--output_file", options.json_path) {}

void JsonReport::begin(const RunInfo& info) {
  root_ = {{"version", kFormatVersion}, {"start_time", formatNow()}, {"args", options_.arguments}};
  if (info.mpi_library.empty()) {
    root_["nccl_version"] = info.library_version;
    root_["nccl_headers_version"] = info.headers_version;
  } else {
    root_["mpi_library"] = info.mpi_library;
  }
  root_["config"] = describeConfig(options_);
  root_["devices"] = Json::array();
  root_["results"] = Json::array();
  for (const DeviceInfo& device : info.devices) {
    root_["devices"].push_back({{"rank", device.rank},
                                {"group", 0},
                                {"pid", std::stoi(device.pid)},
                                {"hostname", device.host},
                                {"device", std::stoi(device.device)},
                                {"device_hex", device.bus_id},
                                {"device_info", device.name}});
  }
}

void JsonReport::add(const Line& line) {
  root_["results"].push_back({{"size", line.what.bytes()},
                              {"count", line.what.count},
                              {"type", line.what.type.name},
                              {"redop", line.what.op.name},
                              {"root", line.what.root},
                              {"out_of_place", describeSide(line.out_of_place, options_.report_cpu_time)},
                              {"in_place", describeSide(line.in_place, options_.report_cpu_time)}});
}

void JsonReport::finish(const Verdict& verdict) {
  root_["out_of_bounds"] = {{"count", static_cast<uint64_t>(verdict.wrong)}, {"okay", verdict.resultsOk()}};
  root_["average_bus_bandwidth"] = {{"bandwidth", verdict.timed ? Json(verdict.bus_gbps) : Json(nullptr)},
                                    {"okay", verdict.fastEnough()}};
  root_["errors"] = verdict.errors;
  root_["end_time"] = formatNow();
  file_.write(root_);
}

}  // namespace perf
