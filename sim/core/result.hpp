// Expected failures: what users and files can get wrong. A programmer's bug is TWIN_CHECK (check.hpp) instead.
//   Result<Model> m = read_model(file); if (!m) return m.error();  use(*m);
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace twin::core {

enum class ErrorCode { kUsage, kNotFound, kParse, kType, kRange, kInconsistent, kDeadlock, kUnsupported };

// where: file and line, or the field ("parallel.tp"). message: what was expected and what was found.
// hint: nearest valid name or the way out; may be empty.
struct Error {
  ErrorCode code = ErrorCode::kUsage;
  std::string where;
  std::string message;
  std::string hint;
  std::string text() const {
    std::string t = where.empty() ? message : where + ": " + message;
    return hint.empty() ? t : t + " (" + hint + ")";
  }
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : v_(std::move(error)) {}  // NOLINT
  explicit operator bool() const { return v_.index() == 0; }
  const T& operator*() const& { return std::get<0>(v_); }
  T& operator*() & { return std::get<0>(v_); }
  T&& operator*() && { return std::get<0>(std::move(v_)); }
  const T* operator->() const { return &std::get<0>(v_); }
  T* operator->() { return &std::get<0>(v_); }
  const Error& error() const { return std::get<1>(v_); }

 private:
  std::variant<T, Error> v_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : e_(std::move(error)) {}  // NOLINT
  explicit operator bool() const { return !e_; }
  const Error& error() const { return *e_; }

 private:
  std::optional<Error> e_;
};

}  // namespace twin::core
