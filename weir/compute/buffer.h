#pragma once

/// An owned array aligned for any vector unit and padded by one vector, so that a kernel may read
/// (never rely on) one vector past the end. Large ones ask for huge pages.
/// Thread safety: a value; moves only.

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <type_traits>

namespace weir::compute {

inline constexpr std::size_t kAlignment = 64;  ///< One AVX-512 vector, one cache line.
inline constexpr std::size_t kHugePage = 2U << 20;

/// Zeroed memory of at least `bytes` plus one vector. Aborts only when the machine has none left:
/// budgets are checked before (promise 4).
[[nodiscard]] void* allocate_aligned(std::size_t bytes);
/// `bytes` as it was asked for.
void free_aligned(void* p, std::size_t bytes);

template <class T>
class AlignedBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::size_t size)
      : data_(static_cast<T*>(allocate_aligned(size * sizeof(T))), Free{size * sizeof(T)}),
        size_(size) {}

  [[nodiscard]] T* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t bytes() const { return size_ * sizeof(T); }
  [[nodiscard]] std::span<T> span() const { return {data_.get(), size_}; }
  T& operator[](std::size_t i) const { return data_.get()[i]; }

 private:
  struct Free {
    std::size_t bytes = 0;
    void operator()(T* p) const { free_aligned(p, bytes); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace weir::compute
