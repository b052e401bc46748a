#include "workloads/shell_arithmetic.hpp"

#include <cctype>
#include <string>

namespace twin::work {

namespace {

constexpr int kMaxDepth = 32;

class Arithmetic {
 public:
  explicit Arithmetic(std::string_view text) : text_(text) {}
  std::optional<std::int64_t> value() {
    const auto v = sum(0);
    skip();
    return ok_ && at_ == text_.size() ? std::optional(v) : std::nullopt;
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::int64_t fail() {
    ok_ = false;
    return 0;
  }
  std::int64_t sum(int depth) {
    std::int64_t v = product(depth);
    while (ok_) {
      const bool plus = take('+');
      if (!plus && !take('-')) break;
      const std::int64_t b = product(depth);
      if (plus ? __builtin_add_overflow(v, b, &v) : __builtin_sub_overflow(v, b, &v)) return fail();
    }
    return v;
  }
  std::int64_t product(int depth) {
    std::int64_t v = unit(depth);
    while (ok_) {
      skip();
      const char op = at_ < text_.size() ? text_[at_] : '\0';
      if (op != '*' && op != '/' && op != '%') break;
      ++at_;
      const std::int64_t b = unit(depth);
      if (op == '*' ? __builtin_mul_overflow(v, b, &v) : (b <= 0 || v < 0)) return fail();
      if (op == '/') v /= b;
      if (op == '%') v %= b;
    }
    return v;
  }
  std::int64_t unit(int depth) {
    if (depth > kMaxDepth) return fail();
    if (take('(')) {
      const std::int64_t v = sum(depth + 1);
      return take(')') ? v : fail();
    }
    skip();
    std::size_t end = at_;
    while (end < text_.size() && std::isdigit(static_cast<unsigned char>(text_[end]))) ++end;
    if (end == at_ || end - at_ > 17) return fail();
    const std::int64_t v = std::stoll(std::string(text_.substr(at_, end - at_)));
    at_ = end;
    return v;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace

std::optional<std::int64_t> evaluate_arithmetic(std::string_view text) { return Arithmetic(text).value(); }

}  // namespace twin::work
