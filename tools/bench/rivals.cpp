// The times of others: those that tools/python/rivals.py wrote, and NumPy's.
#include "bench.hpp"
#include "cli/files.hpp"
#include "cli/system.hpp"
#include "numbers.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace sectile::tools {

Result<Rivals> read_rivals(const std::string& file) {
  if (file.empty()) return Rivals();
  const auto text = read_text(file);
  if (!text) return std::unexpected(text.error());
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_object()) return fail(ErrorKind::parse, "rivals", file, "{row name: {rival: seconds}}");
  Rivals rivals;
  for (const auto& [row, object] : json.items()) {
    if (!object.is_object())
      return fail(ErrorKind::parse, "rivals: " + row, std::string(object.type_name()), "{rival: seconds}");
    for (const auto& [rival, value] : object.items()) {
      const auto seconds = file_seconds(value, "rivals: " + row + ": " + rival);
      if (!seconds) return std::unexpected(seconds.error());
      rivals[row][rival] = *seconds;
    }
  }
  return rivals;
}

void time_numpy(BenchReport& report) {
  // Best of some runs, each into fresh memory as a user of NumPy has it, with its input out of cache.
  static constexpr const char* script =
      "import sys,json,time\n"
      "import numpy as np\n"
      "out={}\n"
      "for row in json.load(sys.stdin)['rows']:\n"
      "    if row.get('axes') is None: continue\n"
      "    size=row['bytes']\n"
      "    a=np.random.default_rng(1).integers(0,255,size=int(np.prod(row['shape']))*size,dtype=np.uint8)\n"
      "    a=a.view('V16' if size==16 else 'u%d'%size).reshape(row['shape'])\n"
      "    times=[]\n"
      "    for i in range(3):\n"
      "        t=time.perf_counter(); b=np.ascontiguousarray(a.transpose(row['axes'])); "
      "times.append(time.perf_counter()-t); del b\n"
      "    out[row['name']]=min(times)\n"
      "json.dump(out,sys.stdout)\n";
  std::vector<BenchRow> rows;
  rows.reserve(report.rows.size());
  for (const RowResult& result : report.rows) rows.push_back(result.row);
  nlohmann::json json = rows_json(rows);
  for (nlohmann::json& row : json["rows"]) {
    const auto type = parse_dtype(row.value("type", ""));
    row["bytes"] = type ? size_bytes(*type) : 0;
  }
#if defined(_WIN32)
  fmt::print(stderr, "sectile: NumPy is not timed on Windows\n");
  return;
#endif
  const auto made = make_temporary_folder("sectile-numpy");
  if (!made) return;
  const std::string& folder = *made;
  const std::string program = folder + "/time_numpy.py", input = folder + "/rows.json", output = folder + "/times.json";
  if (write_atomically(program, script) && write_atomically(input, json.dump())) {
    const std::string command = "python3 " + program + " < " + input + " > " + output + " 2> /dev/null";
    if (std::system(command.c_str()) == 0) {
      const auto text = read_text(output);
      const auto times = text ? nlohmann::json::parse(*text, nullptr, false) : nlohmann::json();
      for (RowResult& result : report.rows) {
        if (!times.contains(result.row.name)) continue;
        if (const auto seconds = file_seconds(times[result.row.name], "numpy")) result.rivals["numpy"] = *seconds;
      }
    }
  }
  for (const std::string& file : {program, input, output, folder}) std::remove(file.c_str());
}

}  // namespace sectile::tools
