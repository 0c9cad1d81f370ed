#include "weir/cli/inspect_report.h"

#include <gmock/gmock.h>

#include <boost/json.hpp>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "weir/format/gguf.h"
#include "weir/format/testing/gguf_bytes.h"

namespace weir::cli {
namespace {

namespace json = boost::json;
using format::testing::GgufBytes;
using ::testing::HasSubstr;
using ::testing::Not;

/// A parsed file that keeps its bytes.
struct Parsed {
  explicit Parsed(const GgufBytes& from) : bytes(std::make_unique<std::string>(from.text_bytes())) {
    auto parsed = format::parse_gguf("m.gguf", format::testing::as_bytes(*bytes));
    EXPECT_TRUE(parsed) << parsed.error().message;
    if (parsed) file = std::move(*parsed);
  }
  std::unique_ptr<std::string> bytes;
  std::unique_ptr<format::ModelFile> file;
};

Parsed two_layers() {
  GgufBytes f;
  f.put("general.architecture", "llama");
  f.put("llama.epsilon", GgufBytes::kF32, 1e-5F);
  f.put_array("tokens", std::vector<std::string>(20, "tok"));
  f.tensor("embd", {4, 2}, 0, std::string(32, 'e'));
  for (const char* layer : {"0", "1"})
    f.tensor(std::string("blk.") + layer + ".q", {32}, 2, std::string(18, 'q'));
  return Parsed(f);
}

const MaybePlan kNoPlan = fail(Code::kUnsupported, "no such family");

TEST(InspectReport, LayersOfOneKindShareALineUnlessAllAreAskedFor) {
  const Parsed m = two_layers();
  const std::string text = text_report(*m.file, kNoPlan, {});
  EXPECT_THAT(text, HasSubstr("m.gguf: GGUF v3, "));
  EXPECT_THAT(text, HasSubstr("3 tensors, 72 values"));
  EXPECT_THAT(text, HasSubstr("  2 x  blk.*.q  Q4_0  [32]    36 B"));
  EXPECT_THAT(text, HasSubstr("  1 x  embd     F32   [2, 4]  32 B"));
  EXPECT_THAT(text, HasSubstr("llama.epsilon         1e-05\n"));
  EXPECT_THAT(text, HasSubstr("20 texts: 'tok', 'tok'"));
  EXPECT_THAT(text, HasSubstr("not known: no such family"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  const std::string all = text_report(*m.file, kNoPlan, {.all_tensors = true});
  EXPECT_THAT(all, HasSubstr("  blk.1.q  Q4_0  [32]    18 B"));
}

TEST(InspectReport, OnlyHeadingsAreBold) {
  const std::string text = text_report(*two_layers().file, kNoPlan, {.bold = true});
  EXPECT_THAT(text, HasSubstr("\x1b[1mTypes\x1b[0m"));
}

TEST(InspectReport, TextFromTheFileCannotDriveTheTerminal) {
  GgufBytes f;
  f.put("k", "\x1b[31mred\r\n");
  f.put_array("list", {"\x1b]0;title\x07"});
  const Parsed m(f);
  EXPECT_THAT(text_report(*m.file, kNoPlan, {}), Not(HasSubstr("\x1b")));
  EXPECT_THAT(*metadata_value(*m.file, "list", false), Not(HasSubstr("\x1b")));
}

TEST(InspectReport, JsonIsOneValidLineWhateverTheFileHolds) {
  GgufBytes f;
  f.put("nan", GgufBytes::kF32, std::numeric_limits<float>::quiet_NaN());
  f.put("bytes", "a\xff\"\n");
  f.put("big", GgufBytes::kU64, UINT64_MAX);
  f.put_array("ids", GgufBytes::kI32, std::vector<std::int32_t>(100, -1));
  f.tensor("w", {4, 2}, 0, std::string(32, 'e'));
  const Parsed m(f);
  const std::string text = json_report(*m.file, kNoPlan);
  EXPECT_EQ(std::ranges::count(text, '\n'), 1);
  const json::value report = json::parse(text);
  EXPECT_EQ(report.at("container").as_string(), "GGUF v3");
  EXPECT_TRUE(report.at("metadata").at("nan").is_null());
  EXPECT_EQ(report.at("metadata").at("bytes").as_string(), "a\xef\xbf\xbd\"\n");
  EXPECT_EQ(report.at("metadata").at("big").as_uint64(), UINT64_MAX);
  EXPECT_EQ(report.at("metadata").at("ids").at("count").to_number<int>(), 100);
  EXPECT_EQ(report.at("metadata").at("ids").at("first").as_array().size(), 8U);
  EXPECT_EQ(json::serialize(report.at("tensors")),
            R"([{"name":"w","type":"F32","shape":[2,4],"bytes":32}])");
  EXPECT_EQ(report.at("memory").at("unavailable").as_string(), "no such family");
}

TEST(InspectReport, OneMetadataValueIsPrintedWhole) {
  const Parsed m = two_layers();
  EXPECT_EQ(*metadata_value(*m.file, "general.architecture", false), "llama\n");
  EXPECT_EQ(*metadata_value(*m.file, "general.architecture", true), "\"llama\"\n");
  EXPECT_EQ(metadata_value(*m.file, "tokens", false)->size(), 20U * 4);
  EXPECT_EQ(json::parse(*metadata_value(*m.file, "tokens", true)).as_array().size(), 20U);
  const auto absent = metadata_value(*m.file, "epsilon", false);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Code::kNotFound);
  EXPECT_THAT(absent.error().message, HasSubstr("near it are 'llama.epsilon'"));
}

TEST(InspectReport, ThePlanAddsUp) {
  const MaybePlan plan = MemoryPlan{.weights = 1'000'000,
                                    .activations = 200'000,
                                    .tables = 30'000,
                                    .kv = {},
                                    .kv_per_unit = 4'000,
                                    .rows = 512,
                                    .chunk = 256,
                                    .page_tokens = 16,
                                    .context = 100};
  const Parsed m = two_layers();
  // 100 tokens need 7 pages of 16.
  EXPECT_THAT(text_report(*m.file, plan, {}), HasSubstr("in all       1.26 MB"));
  const json::value report = json::parse(json_report(*m.file, plan));
  EXPECT_EQ(report.at("memory").at("total_bytes_one_context").to_number<int>(), 1'258'000);

  MaybePlan windows = plan;
  windows->kv = {.layers = 1, .whole = 1, .windowed = 3, .window = 16};
  windows->kv_per_unit = 1'000;
  windows->chunk = 16;
  // 7 whole units, and those of the 3 pages that 16 positions and 16 rows touch.
  const json::value cut = json::parse(json_report(*m.file, windows));
  EXPECT_EQ(cut.at("memory").at("total_bytes_one_context").to_number<int>(), 1'246'000);
  EXPECT_EQ(cut.at("memory").at("kv_page_bytes").to_number<int>(), 4'000);
  EXPECT_THAT(text_report(*m.file, windows, {}), HasSubstr("of it for the last 16 tokens only"));
}

}  // namespace
}  // namespace weir::cli
