// Round trips through real files, and what other programs write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <espalier/files.hpp>
#include <filesystem>
#include <fstream>

#include "sparse/random_matrix.hpp"

namespace espalier {
namespace {

using sparse::same_bytes;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr DType kTypes[] = {DType::kF32, DType::kF64, DType::kBf16, DType::kF16, DType::kI8,  DType::kU8,  DType::kI16,
                            DType::kU16, DType::kI32, DType::kU32,  DType::kI64, DType::kU64, DType::kBool};

class Files : public testing::Test {
 protected:
  Files()
      : directory_(std::filesystem::path(testing::TempDir()) /
                   ("espalier_files_" + std::to_string(::getpid()) + "_" +
                    testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::create_directories(directory_);
  }
  ~Files() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  void write(const std::string& name, std::string_view text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  std::string contents(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Runs a Python program with NumPy as `np` in the test's folder.
  bool python(const std::string& program) const {
    write("program.py", "import numpy as np\n" + program);
    return std::system(("cd '" + directory_.string() + "' && " + interpreter() + " program.py").c_str()) == 0;
  }
  // A Python that has NumPy, or "".
  static const std::string& interpreter() {
    static const std::string found = [] {
      for (const std::string name : {"python3", "/usr/bin/python3"})
        if (std::system((name + " -c 'import numpy' 2>/dev/null").c_str()) == 0) return name;
      return std::string();
    }();
    return found;
  }
  static bool has_numpy() { return !interpreter().empty(); }

  std::filesystem::path directory_;
};

Tensor sample(DType type, Shape shape) {
  Tensor values(DType::kF32, std::move(shape));
  int i = 0;
  for (float& value : values.values<float>()) value = static_cast<float>(++i % 100);
  return values.cast(type);
}

TEST_F(Files, NpyRoundTrip) {
  for (const DType type : kTypes) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{5}, Shape{3, 0, 2}, Shape{2, 3, 4}}) {
      const Tensor tensor = sample(type, shape);
      ASSERT_TRUE(write_npy(path("a.npy"), tensor));
      const auto back = read_npy(path("a.npy"));
      ASSERT_TRUE(back) << back.error().message;
      EXPECT_TRUE(same_bytes(*back, tensor)) << to_string(type) << " " << to_string(shape);
      EXPECT_EQ((contents("a.npy").size() - tensor.bytes()) % 64, 0U);
    }
  }
}

TEST_F(Files, NpzRoundTrip) {
  std::vector<NamedTensor> tensors;
  for (const DType type : kTypes) tensors.push_back({std::string(to_string(type)), sample(type, {2, 3})});
  tensors.push_back({"dir/empty", Tensor(DType::kF32, {0, 4})});
  ASSERT_TRUE(write_npz(path("a.npz"), tensors));
  const auto back = read_npz(path("a.npz"));
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_EQ(back->size(), tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ((*back)[i].name, tensors[i].name);
    EXPECT_TRUE(same_bytes((*back)[i].tensor, tensors[i].tensor));
  }
  ASSERT_TRUE(write_npz(path("none.npz"), {}));
  EXPECT_TRUE(read_npz(path("none.npz"))->empty());
  EXPECT_EQ(write_npz(path("b.npz"), {tensors[0], tensors[0]}).error().message,
            path("b.npz") + ": two tensors are named 'f32'");
  EXPECT_FALSE(std::filesystem::exists(path("b.npz")));
}

TEST_F(Files, NpzWithMoreMembersThan16BitsCount) {
  std::vector<NamedTensor> tensors;
  for (int i = 0; i < 65536; ++i) tensors.push_back({std::to_string(i), Tensor::scalar<std::int8_t>(1)});
  ASSERT_TRUE(write_npz(path("a.npz"), tensors));
  const auto back = read_npz(path("a.npz"));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->size(), 65536U);
  EXPECT_EQ(back->back().name, "65535");
}

TEST_F(Files, NumpyReadsWhatWeWrite) {
  if (!has_numpy()) GTEST_SKIP() << "python3 with NumPy is not installed";
  std::vector<NamedTensor> tensors;
  for (const DType type : kTypes) {
    tensors.push_back({std::string(to_string(type)), sample(type, {3, 4})});
    ASSERT_TRUE(write_npy(path(std::string(to_string(type)) + ".npy"), tensors.back().tensor));
  }
  ASSERT_TRUE(write_npz(path("all.npz"), tensors));
  EXPECT_TRUE(python(R"(
want = np.arange(1, 13).reshape(3, 4)
names = dict(f32='f4', f64='f8', f16='f2', i8='i1', u8='u1', i16='i2', u16='u2', i32='i4', u32='u4', i64='i8', u64='u8', bool='?')
everything = np.load('all.npz')
for name, dtype in names.items():
    for got in (np.load(name + '.npy'), everything[name]):
        assert got.dtype == np.dtype(dtype), (name, got.dtype)
        assert np.array_equal(got, want.astype(dtype)), name
got = np.load('bf16.npy').view('<u2').astype('<u4') << 16
assert np.array_equal(got.view('<f4'), want)
)"));
}

TEST_F(Files, WeReadWhatNumpyWrites) {
  if (!has_numpy()) GTEST_SKIP() << "python3 with NumPy is not installed";
  ASSERT_TRUE(python(R"(
import zipfile
a = np.arange(24, dtype='<f4').reshape(2, 3, 4)
np.save('c.npy', a)
np.save('fortran.npy', np.asfortranarray(a))
np.save('scalar.npy', np.float64(2.5))
for version in ((1, 0), (2, 0), (3, 0)):
    with open('v%d.npy' % version[0], 'wb') as f:
        np.lib.format.write_array(f, a, version=version)
np.savez_compressed('deflated.npz', image=np.zeros((1000, 100), 'u1'), label=np.arange(5))
np.savez('stored.npz', a=a)
with zipfile.ZipFile('zip64.npz', 'w') as z, z.open('a.npy', 'w', force_zip64=True) as f:
    np.save(f, a)
np.save('big_endian.npy', a.astype('>f4'))
np.save('complex.npy', a.astype('c8'))
np.save('object.npy', np.array([{}, None]), allow_pickle=True)
np.save('text.npy', np.array(['ab']))
np.save('records.npy', np.zeros(2, dtype=[('x', 'f4'), ('y', 'i4')]))
)"));
  const Tensor expected = [] {
    Tensor values(DType::kF32, {2, 3, 4});
    for (std::size_t i = 0; i < 24; ++i) values.values<float>()[i] = static_cast<float>(i);
    return values;
  }();
  for (const char* name : {"c.npy", "fortran.npy", "v1.npy", "v2.npy", "v3.npy"}) {
    const auto tensor = read_npy(path(name));
    ASSERT_TRUE(tensor) << tensor.error().message;
    EXPECT_TRUE(same_bytes(*tensor, expected)) << name;
  }
  EXPECT_EQ(read_npy(path("scalar.npy"))->values<double>()[0], 2.5);
  for (const char* name : {"stored.npz", "zip64.npz"})
    EXPECT_TRUE(same_bytes(read_npz(path(name))->at(0).tensor, expected)) << name;
  const auto deflated = read_npz(path("deflated.npz"));
  ASSERT_TRUE(deflated) << deflated.error().message;
  EXPECT_EQ(deflated->at(0).tensor.shape(), (Shape{1000, 100}));
  EXPECT_THAT(deflated->at(1).tensor.values<std::int64_t>(), ElementsAre(0, 1, 2, 3, 4));
  const auto refusal = [&](const char* name) { return read_npy(path(name)).error().message; };
  EXPECT_THAT(refusal("big_endian.npy"), HasSubstr("elements of type '>f4' cannot be read (big-endian)"));
  EXPECT_THAT(refusal("complex.npy"), HasSubstr("elements of type '<c8'"));
  EXPECT_THAT(refusal("object.npy"), HasSubstr("elements of type '|O'"));
  EXPECT_THAT(refusal("text.npy"), HasSubstr("elements of type '<U2'"));
  EXPECT_THAT(refusal("records.npy"), HasSubstr("records with several fields"));
}

TEST_F(Files, SafetensorsRoundTripShareOneMapping) {
  Safetensors contents;
  for (const DType type : kTypes) contents.tensors.push_back({std::string(to_string(type)), sample(type, {3, 5})});
  contents.tensors.push_back({"empty", Tensor(DType::kF32, {0})});
  contents.tensors.push_back({"scalar", Tensor::scalar(1.5F)});
  contents.metadata = {{"format", "pt"}, {"note", "\"quoted\" \xc3\xa9"}};
  ASSERT_TRUE(write_safetensors(path("a.safetensors"), contents));
  auto back = read_safetensors(path("a.safetensors"));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->metadata, contents.metadata);
  ASSERT_EQ(back->tensors.size(), contents.tensors.size());
  for (std::size_t i = 0; i < contents.tensors.size(); ++i) {
    const Tensor& tensor = back->tensors[i].tensor;
    EXPECT_EQ(back->tensors[i].name, contents.tensors[i].name);
    EXPECT_TRUE(same_bytes(tensor, contents.tensors[i].tensor));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.raw()) % size_of(tensor.dtype()), 0U);
  }
  // One mapping: f64, the first of the largest elements, lies at the start of the data, i64 after its 120 bytes.
  const auto* first = static_cast<const std::byte*>(back->tensors[1].tensor.raw());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0U);
  EXPECT_EQ(static_cast<const std::byte*>(back->tensors[10].tensor.raw()), first + 120);
  // A tensor outlives the list and the file.
  const Tensor kept = back->tensors[0].tensor;
  back = Safetensors{};
  std::filesystem::remove(path("a.safetensors"));
  EXPECT_TRUE(same_bytes(kept, contents.tensors[0].tensor));
}

TEST_F(Files, SafetensorsRefusesNames) {
  const NamedTensor tensor{"a", Tensor::scalar(1.0F)};
  const std::string file = path("a.safetensors");
  EXPECT_EQ(write_safetensors(file, {{tensor, tensor}, {}}).error().message, file + ": the name 'a' is taken");
  EXPECT_EQ(write_safetensors(file, {{{"__metadata__", tensor.tensor}}, {}}).error().message,
            file + ": the name '__metadata__' is taken");
  EXPECT_EQ(write_safetensors(file, {{{"b", {}}}, {}}).error().message, file + ": 'b' has no tensor to write");
  EXPECT_EQ(write_safetensors(file, {{{"\xff", tensor.tensor}}, {}}).error().message,
            file + ": names and metadata must be UTF-8");
  EXPECT_FALSE(std::filesystem::exists(file));
}

Csr small_csr() {
  return {3, 4, IndexArray::of(std::vector<std::int64_t>{0, 2, 2, 3}),
          IndexArray::of(std::vector<std::int64_t>{3, 0, 1}), Tensor::of<float>({3}, {0.1F, -2, 1e-30F})};
}

TEST_F(Files, SmtxRoundTrip) {
  ASSERT_TRUE(write_smtx(path("a.smtx"), small_csr()));
  EXPECT_EQ(contents("a.smtx"), "3, 4, 3\n0 2 2 3\n3 0 1\n");
  const auto back = read_smtx(path("a.smtx"));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(same_bytes(back->row_starts.tensor(), small_csr().row_starts.tensor()));
  EXPECT_TRUE(same_bytes(back->cols_of.tensor(), small_csr().cols_of.tensor()));
  EXPECT_THAT(back->values.values<float>(), ElementsAre(1, 1, 1));
  write("empty.smtx", "2,3,0\n0 0 0\n\n");
  EXPECT_EQ(read_smtx(path("empty.smtx"))->cols_of.size(), 0);
}

TEST_F(Files, MatrixMarketRoundTrip) {
  ASSERT_TRUE(write_matrix_market(path("a.mtx"), small_csr()));
  EXPECT_EQ(contents("a.mtx"), "%%MatrixMarket matrix coordinate real general\n3 4 3\n1 4 0.1\n1 1 -2\n3 2 1e-30\n");
  const auto back = read_matrix_market(path("a.mtx"));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(same_bytes(decode(*back).cast(DType::kF32), decode(small_csr())));
  Csr integers = small_csr();
  integers.values = Tensor::of<std::int8_t>({3}, {-128, 0, 127});
  ASSERT_TRUE(write_matrix_market(path("i.mtx"), integers));
  EXPECT_THAT(read_matrix_market(path("i.mtx"))->values.values<double>(), ElementsAre(0, -128, 127));
}

TEST_F(Files, MatrixMarketKinds) {
  write("s.mtx",
        "%%matrixmarket MATRIX Coordinate Integer symmetric\r\n% comment\r\n\r\n3 3 3\r\n2 1 5\r\n3 3 +7\r\n3 2 1\r\n");
  const auto symmetric = read_matrix_market(path("s.mtx"));
  ASSERT_TRUE(symmetric) << symmetric.error().message;
  EXPECT_THAT(decode(*symmetric).values<double>(), ElementsAre(0, 5, 0, 5, 0, 1, 0, 1, 7));
  write("p.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n2 1\n");
  const auto pattern = read_matrix_market(path("p.mtx"));
  EXPECT_THAT(decode(*pattern).values<float>(), ElementsAre(0, 0, 1, 0));
}

TEST_F(Files, AFailedWriteLeavesTheOldFile) {
  write("a.npy", "old");
  // Absent tensors are refused before the file is touched; a folder without write permission afterwards.
  EXPECT_FALSE(write_npy(path("a.npy"), Tensor()));
  EXPECT_EQ(contents("a.npy"), "old");
  const Status status = write_file(path("missing/a"), "x", 1);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
  EXPECT_THAT(status.error().message, HasSubstr("missing/a: cannot be written"));
  ASSERT_TRUE(write_file(path("a.npy"), "new", 3));
  EXPECT_EQ(contents("a.npy"), "new");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1);
}

TEST_F(Files, MissingFilesAreNotFound) {
  for (const auto& error :
       {read_npy(path("x")).error(), read_npz(path("x")).error(), read_safetensors(path("x")).error(),
        read_smtx(path("x")).error(), read_matrix_market(path("x")).error()}) {
    EXPECT_EQ(error.code, ErrorCode::kNotFound);
    EXPECT_THAT(error.message, HasSubstr("x: cannot be opened"));
  }
}

}  // namespace
}  // namespace espalier
