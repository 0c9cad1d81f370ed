#include "weir/plan/registry.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <cmath>
#include <set>

#include "weir/plan/amount.h"
#include "weir/plan/nearest.h"

namespace weir::plan {

extern const char* const kRegistryYaml;  // registry.yaml, compiled in.

namespace {

/// One entry of the text: reads its fields by name and knows where it stands, for errors.
class Entry {
 public:
  Entry(YAML::Node node, std::string place) : node_(std::move(node)), place_(std::move(place)) {}

  [[nodiscard]] const std::string& place() const { return place_; }

  Result<std::string> text(const char* field, bool needed = true) {
    read_.insert(field);
    const YAML::Node value = node_[field];
    if (!value) {
      if (!needed) return std::string();
      return wrong(field, "is missing");
    }
    if (!value.IsScalar()) return wrong(field, "must be one value");
    if (value.Scalar().size() > 200) return wrong(field, "is longer than 200 characters");
    return value.Scalar();
  }

  /// A number in its unit, over 0 and at most `most` (0 is allowed when the field is not needed).
  Result<double> number(const char* field, Unit unit, double most, bool needed = true) {
    WEIR_TRY(const std::string written, text(field, needed));
    if (written.empty()) return 0.0;
    const auto value = parse_amount(written, unit);
    if (!value) return wrong(field, value.error().message);
    if (*value < 0 || *value > most || (*value == 0 && needed))
      return wrong(field, fmt::format("is {}, but must be over 0 and at most {}", written,
                                      show({most, unit})));
    return *value;
  }

  /// Every field must be one that was asked for.
  Status only_known() {
    for (const auto& pair : node_) {
      if (!pair.first.IsScalar())
        return fail(Code::kInvalidArgument, place_ + ": a field's name must be a word");
      const std::string& name = pair.first.Scalar();
      if (!read_.contains(name)) {
        return wrong(name.substr(0, 60), "is no field of this entry; " +
                                             suggestion(name, {read_.begin(), read_.end()}));
      }
    }
    return {};
  }

  [[nodiscard]] std::unexpected<Error> wrong(std::string_view field, const std::string& why) const {
    return fail(Code::kInvalidArgument, fmt::format("{}.{}: {}", place_, field, why));
  }

 private:
  YAML::Node node_;
  std::string place_;
  std::set<std::string> read_;
};

Result<Device> read_device(Entry& e) {
  Device d;
  WEIR_TRY(d.title, e.text("title"));
  WEIR_TRY(d.memory.value, e.number("memory", Unit::kBytes, 1e17));
  WEIR_TRY(d.bandwidth.value, e.number("bandwidth", Unit::kBandwidth, 1e18));
  WEIR_TRY(d.fp16.value, e.number("fp16", Unit::kOpRate, 1e21));
  WEIR_TRY(d.fp8.value, e.number("fp8", Unit::kOpRate, 1e21, false));
  WEIR_TRY(d.int8.value, e.number("int8", Unit::kOpRate, 1e21, false));
  WEIR_TRY(d.int4.value, e.number("int4", Unit::kOpRate, 1e21, false));
  WEIR_TRY(d.link, e.text("link", false));
  WEIR_TRY(d.power_watts, e.number("power_watts", Unit::kNone, 1e7, false));
  WEIR_TRY(d.purchase.value, e.number("purchase", Unit::kDollars, 1e9, false));
  WEIR_TRY(d.hourly.value, e.number("hourly", Unit::kPrice, 1e4, false));
  WEIR_TRY(d.dispatch.value, e.number("dispatch", Unit::kSeconds, 1, false));
  return d;
}

Result<Link> read_link(Entry& e) {
  Link l;
  WEIR_TRY(l.title, e.text("title"));
  WEIR_TRY(l.bandwidth.value, e.number("bandwidth", Unit::kBandwidth, 1e18));
  WEIR_TRY(l.latency.value, e.number("latency", Unit::kSeconds, 10, false));
  return l;
}

Result<MemoryTier> read_memory(Entry& e) {
  MemoryTier m;
  WEIR_TRY(m.title, e.text("title"));
  WEIR_TRY(m.capacity.value, e.number("capacity", Unit::kBytes, 1e19));
  WEIR_TRY(m.bandwidth.value, e.number("bandwidth", Unit::kBandwidth, 1e18));
  WEIR_TRY(m.latency.value, e.number("latency", Unit::kSeconds, 10, false));
  WEIR_TRY(m.latency_high.value, e.number("latency_high", Unit::kSeconds, 10, false));
  if (m.latency_high < m.latency) m.latency_high = m.latency;
  return m;
}

Result<Region> read_region(Entry& e) {
  Region r;
  WEIR_TRY(r.title, e.text("title"));
  WEIR_TRY(r.device, e.text("device"));
  WEIR_TRY(r.spot.value, e.number("spot", Unit::kPrice, 1e4));
  WEIR_TRY(r.on_demand.value, e.number("on_demand", Unit::kPrice, 1e4));
  return r;
}

Result<RoundTrip> read_round_trip(Entry& e) {
  RoundTrip r;
  WEIR_TRY(r.title, e.text("title"));
  WEIR_TRY(r.distant.value, e.number("distant", Unit::kSeconds, 100));
  WEIR_TRY(r.local.value, e.number("local", Unit::kSeconds, 100));
  return r;
}

Result<Model> read_model(Entry& e) {
  Model m;
  WEIR_TRY(m.title, e.text("title"));
  WEIR_TRY(m.parameters, e.number("parameters", Unit::kCount, 1e15));
  WEIR_TRY(m.active, e.number("active", Unit::kCount, 1e15, false));
  if (m.active == 0) m.active = m.parameters;
  WEIR_TRY(m.layers, e.number("layers", Unit::kCount, 1e4));
  WEIR_TRY(m.width, e.number("width", Unit::kCount, 1e7));
  WEIR_TRY(m.heads, e.number("heads", Unit::kCount, 1e5));
  WEIR_TRY(m.kv_heads, e.number("kv_heads", Unit::kCount, 1e5));
  WEIR_TRY(m.head_dim, e.number("head_dim", Unit::kCount, 1e5));
  WEIR_TRY(m.vocabulary, e.number("vocabulary", Unit::kCount, 1e8));
  WEIR_TRY(m.context, e.number("context", Unit::kCount, 1e9));
  WEIR_TRY(m.experts, e.number("experts", Unit::kCount, 1e5, false));
  WEIR_TRY(m.experts_used, e.number("experts_used", Unit::kCount, 1e5, false));
  WEIR_TRY(m.kv_latent, e.number("kv_latent", Unit::kCount, 1e6, false));
  WEIR_TRY_STATUS(check_model(m, e.place()));
  return m;
}

Result<Prices> read_prices(Entry& e) {
  Prices p;
  WEIR_TRY(p.electricity_per_kwh.value, e.number("electricity_per_kwh", Unit::kDollars, 1e3));
  WEIR_TRY(p.egress_per_gb.value, e.number("egress_per_gb", Unit::kDollars, 1e3));
  WEIR_TRY(p.training_device.value, e.number("training_device", Unit::kPrice, 1e4));
  WEIR_TRY(p.inference_device.value, e.number("inference_device", Unit::kPrice, 1e4));
  return p;
}

/// All entries of one section into the map they belong to.
template <class T, class Map>
Status read_section(const YAML::Node& section, const std::string& place, Map& into,
                    Result<T> (*read)(Entry&)) {
  if (!section.IsMap())
    return fail(Code::kInvalidArgument, place + " must hold entries with names");
  constexpr std::size_t kMost = 10'000;
  if (section.size() > kMost)
    return fail(Code::kInvalidArgument, place + " holds more than 10000 entries");
  for (const auto& pair : section) {
    if (!pair.first.IsScalar())
      return fail(Code::kInvalidArgument, place + ": an entry's name must be a word");
    const std::string& name = pair.first.Scalar();
    if (name.empty() || name.size() > 60)
      return fail(Code::kInvalidArgument, place + ": an entry's name must have 1 to 60 characters");
    if (!pair.second.IsMap())
      return fail(Code::kInvalidArgument,
                  fmt::format("{}.{} must hold fields with names", place, name));
    Entry entry(pair.second, place + "." + name);
    WEIR_TRY(T value, read(entry));
    WEIR_TRY_STATUS(entry.only_known());
    value.name = name;
    into.insert_or_assign(name, std::move(value));
  }
  return {};
}

Status read_text(const YAML::Node& root, const std::string& origin, Registry& r) {
  if (root.IsNull()) return {};
  if (!root.IsMap())
    return fail(Code::kInvalidArgument, origin + ": a registry holds sections such as 'models:'");
  for (const auto& pair : root) {
    if (!pair.first.IsScalar())
      return fail(Code::kInvalidArgument, origin + ": a section's name must be a word");
    const std::string& name = pair.first.Scalar();
    const YAML::Node& section = pair.second;
    const std::string place = origin + ": " + name;
    if (name == "accelerators" || name == "cpus") {
      WEIR_TRY_STATUS(read_section(section, place, r.devices, read_device));
    } else if (name == "memories") {
      WEIR_TRY_STATUS(read_section(section, place, r.memories, read_memory));
    } else if (name == "links") {
      WEIR_TRY_STATUS(read_section(section, place, r.links, read_link));
    } else if (name == "regions") {
      WEIR_TRY_STATUS(read_section(section, place, r.regions, read_region));
    } else if (name == "rtts") {
      WEIR_TRY_STATUS(read_section(section, place, r.round_trips, read_round_trip));
    } else if (name == "models") {
      WEIR_TRY_STATUS(read_section(section, place, r.models, read_model));
    } else if (name == "prices") {
      if (!section.IsMap())
        return fail(Code::kInvalidArgument, place + " must hold fields with names");
      Entry entry(section, place);
      WEIR_TRY(r.prices, read_prices(entry));
      WEIR_TRY_STATUS(entry.only_known());
    } else {
      return fail(Code::kInvalidArgument,
                  fmt::format("{}: '{}' is no section; {}", origin, name.substr(0, 60),
                              suggestion(name, {"accelerators", "cpus", "links", "memories",
                                                "models", "prices", "regions", "rtts"})));
    }
  }
  return {};
}

/// Names that point at each other must exist.
Status check_references(const Registry& r, const std::string& origin) {
  for (const auto& [name, device] : r.devices) {
    if (!device.link.empty() && !r.links.contains(device.link)) {
      return fail(Code::kInvalidArgument,
                  fmt::format("{}: device {} names the unknown link '{}'; {}", origin, name,
                              device.link, suggestion(device.link, names_of(r.links))));
    }
  }
  for (const auto& [name, region] : r.regions) {
    if (!r.devices.contains(region.device)) {
      return fail(Code::kInvalidArgument,
                  fmt::format("{}: region {} names the unknown device '{}'; {}", origin, name,
                              region.device, suggestion(region.device, names_of(r.devices))));
    }
  }
  return {};
}

}  // namespace

Status check_model(const Model& m, const std::string& place) {
  const auto wrong = [&](const std::string& why) {
    return fail(Code::kInvalidArgument, place + ": " + why);
  };
  for (const double whole :
       {m.layers, m.width, m.heads, m.kv_heads, m.head_dim, m.vocabulary, m.context}) {
    if (!(whole >= 1) || whole != std::floor(whole))
      return wrong(
          "layers, width, heads, kv_heads, head_dim, vocabulary and context must be whole and at "
          "least 1");
  }
  if (m.kv_heads > m.heads || std::fmod(m.heads, m.kv_heads) != 0)
    return wrong(fmt::format("{} heads cannot share {} KV heads evenly", m.heads, m.kv_heads));
  if (!(m.active > 0) || m.active > m.parameters)
    return wrong(fmt::format("{} active parameters of {} make no sense", m.active, m.parameters));
  if ((m.experts > 0) != (m.experts_used > 0) || m.experts_used > m.experts)
    return wrong(fmt::format("{} of {} experts make no sense", m.experts_used, m.experts));
  return {};
}

Result<Registry> Registry::built_in() {
  Registry registry;
  WEIR_TRY_STATUS(registry.overlay(kRegistryYaml, "the built-in registry"));
  return registry;
}

Status Registry::overlay(std::string_view yaml, const std::string& origin) {
  constexpr std::size_t kMost = 1 << 20;
  if (yaml.size() > kMost) return fail(Code::kInvalidArgument, origin + " is larger than 1 MiB");
  Registry changed = *this;
  try {
    WEIR_TRY_STATUS(read_text(YAML::Load(std::string(yaml)), origin, changed));
  } catch (const YAML::Exception& e) {
    return fail(Code::kInvalidArgument, fmt::format("{}: line {}: {}", origin,
                                                    e.mark.is_null() ? 0 : e.mark.line + 1, e.msg));
  }
  WEIR_TRY_STATUS(check_references(changed, origin));
  *this = std::move(changed);
  return {};
}

}  // namespace weir::plan
