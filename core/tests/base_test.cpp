#include <atomic>
#include <cmath>
#include <cstring>
#include <sys/mman.h>
#include <thread>
#include <vector>

#include "base/dtype.h"
#include "base/generator.h"
#include "base/huge_pages.h"
#include "base/inline_list.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/scalar.h"
#include "base/small_vector.h"
#include "tests/check.h"

using namespace wisp;

TEST("dtype: promotion is symmetric and idempotent") {
  for (int i = 0; i < num_dtypes; ++i) {
    for (int j = 0; j < num_dtypes; ++j) {
      const DType a = static_cast<DType>(i), b = static_cast<DType>(j);
      if (a != b && (contains(dtypes::stored, a) || contains(dtypes::stored, b))) continue;
      const DType p = promote(a, b);
      CHECK(p == promote(b, a));
      CHECK(promote(p, a) == p && promote(p, b) == p);
    }
  }
  CHECK(promote(DType::uint8, DType::int8) == DType::int16);
  CHECK(promote(DType::float16, DType::bfloat16) == DType::float32);
  CHECK(promote(DType::int64, DType::float16) == DType::float16);
  CHECK(promote(DType::float64, DType::complex64) == DType::complex128);
  CHECK(promote(DType::uint16, DType::float32) == DType::float32);
  CHECK(promote(DType::bfloat16, DType::uint64) == DType::bfloat16);
  CHECK_THROWS(promote(DType::uint16, DType::int32), "uint16, uint32, uint64");
  CHECK_THROWS(promote(DType::float32, DType::float8_e5m2), "Float8");
}

TEST("dtype: conversions neither overflow nor trap") {
  CHECK(convert<uint8_t>(300.0) == 44);
  CHECK(convert<int64_t>(1e30) == INT64_MIN);
  CHECK(convert<int32_t>(std::nan("")) == INT32_MIN && convert<int16_t>(1e30) == 0);
  CHECK(convert<bool>(0.5f) && !convert<bool>(0.0));
  CHECK(convert<float>(Complex<double>(1.5, 2)) == 1.5f);
}

TEST("half: every bit pattern survives a round trip") {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    Half h;
    h.bits = static_cast<uint16_t>(bits);
    const float f = h;
    const Half back(f);
    CHECK(std::isnan(f) ? std::isnan(static_cast<float>(back)) : back.bits == h.bits);
    BFloat16 b;
    b.bits = static_cast<uint16_t>(bits);
    const float g = b;
    CHECK(std::isnan(g) ? std::isnan(static_cast<float>(BFloat16(g))) : BFloat16(g).bits == b.bits);
  }
  CHECK(static_cast<float>(Half(65519.0f)) == 65504.0f);
  CHECK(std::isinf(static_cast<float>(Half(65520.0f))));
  CHECK(Half(2.98e-8f).bits == 0 &&
        Half(2.99e-8f).bits == 1);  // around half of the least subnormal
}

TEST("small vector: grows, copies and moves") {
  Dims a{1, 2, 3};
  for (int64_t i = 4; i < 20; ++i) a.push_back(i);
  Dims b = a, c = std::move(a);
  CHECK(b == c && b.size() == 19 && b[18] == 19);
  c.insert(0, 7);
  c.erase(1);
  CHECK(c[0] == 7 && c[1] == 2 && c.size() == 19);
}

TEST("inline list: keeps what it holds when it grows") {
  InlineList<std::string, 2> list;
  for (int i = 0; i < 10; ++i) list.push(std::string(30, static_cast<char>('a' + i)));
  CHECK(list.size() == 10 && list[0][0] == 'a' && list[9][0] == 'j');
  CHECK(list.pop()[0] == 'j' && list.size() == 9);
}

TEST("memory: blocks are aligned, distinct and counted") {
  const int64_t before = memory::stats().current;
  std::vector<std::pair<char*, size_t>> blocks;
  for (size_t bytes :
       {0ul, 1ul, 64ul, 65ul, 1000ul, 1025ul, 5000ul, 32768ul, 32769ul, 1ul << 20, 5ul << 20}) {
    auto* block = static_cast<char*>(memory::allocate(bytes));
    CHECK(reinterpret_cast<uintptr_t>(block) % 64 == 0);
    std::memset(block, 0xab, bytes);
    blocks.emplace_back(block, bytes);
  }
  CHECK(memory::stats().current > before + (6 << 20));
  for (auto& [block, bytes] : blocks) memory::deallocate(block, bytes);
  CHECK(memory::stats().current == before);
}

#if !defined(WISP_SANITIZE)
TEST("memory: large blocks are kept, reused and bounded") {
  memory::empty_cache();
  void* first = memory::allocate(8 << 20);
  memory::deallocate(first, 8 << 20);
  CHECK(memory::stats().cached >= (8 << 20));
  void* second = memory::allocate(8 << 20);
  CHECK(first == second);
  memory::deallocate(second, 8 << 20);
  const int64_t limit = memory::stats().cache_limit;
  memory::set_cache_limit(10 << 20);
  for (int i = 0; i < 5; ++i) {
    void* block = memory::allocate((9 << 20) + (static_cast<size_t>(i) << 21));
    memory::deallocate(block, (9 << 20) + (static_cast<size_t>(i) << 21));
    CHECK(memory::stats().cached <= (10 << 20));
  }
  memory::set_cache_limit(limit);
  memory::empty_cache();
  CHECK(memory::stats().cached == 0);
}
#endif

TEST("memory: peak follows current and can be reset") {
  memory::reset_peak();
  const int64_t start = memory::stats().peak;
  void* block = memory::allocate(16 << 20);
  memory::deallocate(block, 16 << 20);
  CHECK(memory::stats().peak >= start + (16 << 20));
  memory::reset_peak();
  CHECK(memory::stats().peak < start + (16 << 20));
}

TEST("memory: threads may free each other's blocks") {
  const int64_t before = memory::stats().current;
  std::vector<void*> blocks(10000);
  std::thread maker([&] {
    for (auto& block : blocks) block = memory::allocate(200);
  });
  maker.join();
  std::thread breaker([&] {
    for (void* block : blocks) memory::deallocate(block, 200);
  });
  breaker.join();
  CHECK(memory::stats().current == before);
}

TEST("memory: what cannot be had is an error") {
  CHECK_THROWS(memory::allocate(size_t(1) << 60), "not enough memory");
}

TEST("parallel_for: visits everything once, whatever the pieces") {
  for (int64_t n : {0, 1, 100, 1001, 100000}) {
    for (int64_t grain : {1, 7, 1000, 1000000}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(n));
      parallel_for(n, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
      });
      for (const auto& count : seen) CHECK(count == 1);
    }
  }
}

TEST("parallel_for: an exception reaches the caller") {
  bool caught = false;
  try {
    parallel_for(1000, 10, [](int64_t begin, int64_t) {
      if (begin == 500) fail(ErrorKind::value, "stop");
    });
  } catch (const Error& error) {
    caught = error.kind() == ErrorKind::value;
  }
  CHECK(caught);
  parallel_for(1000, 10, [](int64_t, int64_t) {});  // the pool still works
}

TEST("parallel_for: nested regions run on the calling thread") {
  std::atomic<int> total{0};
  parallel_for(100, 1,
               [&](int64_t, int64_t) { parallel_for(100, 1, [&](int64_t, int64_t) { ++total; }); });
  CHECK(total == 10000);
}

TEST("scalar: converts as a tensor of its kind would") {
  CHECK(Scalar(2.7).to<int64_t>() == 2);
  CHECK(Scalar(int64_t(-1)).to<uint8_t>() == 255);
  CHECK(Scalar(std::complex<double>(1, 2)).to<Complex<float>>() == Complex<float>(1, 2));
  CHECK((-Scalar(3)).integer() == -3 && Scalar(true).dtype() == DType::bool_);
}

TEST("generator: state can be taken and given back") {
  Generator g(42);
  const auto state = g.reserve(100);
  CHECK(state.seed == 42 && state.counter == 0 && g.state().counter == 100);
  g.set_state(state);
  CHECK(g.state().counter == 0);
}

TEST("huge pages: memory keeps what it holds when it gets them") {
  memory::HugePages pages;
  const size_t bytes = 2 * memory::huge_page;
  char* block = memory::map_aligned(bytes);
  CHECK(block && reinterpret_cast<uintptr_t>(block) % memory::huge_page == 0);
  std::memset(block, 1, bytes);
  pages.collapse(block);  // whether it has them then is up to the machine
  CHECK(std::count(block, block + bytes, 1) == static_cast<std::ptrdiff_t>(bytes));
  char* before = memory::map_aligned(bytes, block);
  CHECK(before && reinterpret_cast<uintptr_t>(before) % memory::huge_page == 0);
  std::memset(before, 2, bytes);
  CHECK(block[0] == 1);
  munmap(before, bytes);
  munmap(block, bytes);
}
