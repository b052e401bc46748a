#include "workloads/shell_words.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <utility>
#include "workloads/shell_arithmetic.hpp"

namespace twin::work {

namespace {

using core::Error;
using core::ErrorCode;
using Words = std::vector<ShellWord>;

constexpr std::size_t kMaxWords = 200'000;
constexpr std::size_t kMaxText = std::size_t{1} << 20;
constexpr std::size_t kMaxSpent = std::size_t{1} << 24;  // characters of all words together
constexpr int kMaxDepth = 32;

bool name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

class Shell {
 public:
  Shell(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  core::Result<ShellScript> run() {
    while (!error_ && at_ < text_.size()) statement();
    if (error_) return *error_;
    for (const auto& [name, words] : variables_)
      if (arrays_.contains(name) || (words.size() == 1 && words.front().text.starts_with("--")))
        for (const auto& w : words) split_into(script_.array_words, w);
    std::stable_sort(script_.array_words.begin(), script_.array_words.end(),
                     [](const ShellWord& a, const ShellWord& b) { return a.line < b.line; });
    return std::move(script_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  char next() {
    const char c = text_[at_++];
    if (c == '\n') ++line_;
    return c;
  }
  bool continuation() const { return peek() == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n')); }
  void skip_continuation() {
    while (next() != '\n') {
    }
  }
  void fail(int line, std::string message) {
    if (!error_) error_ = Error{ErrorCode::kParse, file_ + ":" + std::to_string(line), std::move(message), ""};
  }
  void note(const std::string& what) {
    const std::string text = what + " (line " + std::to_string(line_) + ")";
    if (script_.notes.size() < 100) script_.notes.push_back(text);
  }

  // Blanks, continuations and comments; newlines too where `lines`.
  void skip_blanks(bool lines) {
    while (at_ < text_.size()) {
      if (continuation())
        skip_continuation();
      else if (peek() == '#')
        while (at_ < text_.size() && peek() != '\n') ++at_;
      else if (is_space(peek()) && (lines || peek() != '\n'))
        next();
      else
        break;
    }
  }

  static void split_into(Words& out, const ShellWord& word) {
    std::string piece;
    for (const char c : word.text + " ") {
      if (!is_space(c))
        piece += c;
      else if (!piece.empty())
        out.push_back({std::exchange(piece, {}), word.line});
    }
  }

  const Words* variable(const std::string& name) const {
    const auto it = variables_.find(name);
    return it == variables_.end() ? nullptr : &it->second;
  }

  static std::string joined(const Words& words) {
    std::string text;
    for (const auto& w : words) text += (text.empty() ? "" : " ") + w.text;
    return text;
  }

  // The text up to the closing mark of an opening one that was just read; quotes and nesting respected.
  std::string until(char open, char close, int line) {
    std::string inside;
    int depth = 1;
    char quote = '\0';
    while (at_ < text_.size()) {
      const char c = next();
      if (quote != '\0') {
        if (c == quote) quote = '\0';
      } else if (c == '\'' || c == '"') {
        quote = c;
      } else if (c == open) {
        ++depth;
      } else if (c == close && --depth == 0) {
        return inside;
      }
      inside += c;
    }
    fail(line, std::string("expected a closing '") + close + "', found the end of the file");
    return inside;
  }

  // Expands `text` as if inside double quotes.
  std::string expand(const std::string& text, int depth) {
    if (depth > kMaxDepth) return fail(line_, "expected at most 32 nested expansions, found more"), "";
    Shell inner(text, file_);
    inner.variables_ = variables_;
    inner.line_ = line_;
    inner.depth_ = depth;
    std::string out;
    while (!inner.error_ && inner.at_ < inner.text_.size()) {
      if (inner.peek() == '$')
        out += joined(inner.dollar());
      else if (inner.peek() == '"' || inner.peek() == '\'')
        ++inner.at_;
      else
        out += inner.next();
      if (out.size() > kMaxText) inner.fail(line_, "expected at most 1 MiB in a word, found more");
    }
    if (inner.error_ && !error_) error_ = inner.error_;
    for (auto& n : inner.script_.notes) script_.notes.push_back(std::move(n));
    return out;
  }

  // At a '$': the words that it stands for (one, or the elements of an array).
  Words dollar() {
    const int line = line_;
    ++at_;
    if (peek() == '(' && peek(1) == '(') {
      at_ += 2;
      const std::string inside = until('(', ')', line);
      if (peek() == ')') ++at_;
      return {{arithmetic(inside), line}};
    }
    if (peek() == '(') {
      ++at_;
      const std::string inside = until('(', ')', line);
      note("the output of $(" + inside.substr(0, 40) + ") is taken as empty");
      return {};
    }
    if (peek() == '{') {
      ++at_;
      return braces(until('{', '}', line), line);
    }
    std::string name;
    if (name_start(peek()))
      while (name_char(peek())) name += next();
    else if (std::isdigit(static_cast<unsigned char>(peek())) ||
             std::string_view("@*#?$!-").find(peek()) != std::string_view::npos) {
      if (at_ < text_.size()) name += next();
    }
    if (name.empty()) return {{"$", line}};
    return value_of(name, false);
  }

  Words value_of(const std::string& name, bool whole_array) {
    const Words* found = variable(name);
    if (found == nullptr) {
      note("$" + name + " is not set here and taken as empty");
      return {};
    }
    if (whole_array || !arrays_.contains(name)) return *found;
    return found->empty() ? Words{} : Words{found->front()};
  }

  std::string arithmetic(const std::string& inside) {
    std::string text;
    for (std::size_t i = 0; i < inside.size();) {
      if (!name_start(inside[i])) {
        if (inside[i] != '$' && inside[i] != '{' && inside[i] != '}') text += inside[i];
        ++i;
        continue;
      }
      std::size_t j = i;
      while (j < inside.size() && name_char(inside[j])) ++j;
      const Words* v = variable(inside.substr(i, j - i));
      text += v != nullptr && !v->empty() ? v->front().text : "0";
      i = j;
    }
    const auto v = evaluate_arithmetic(text);
    if (!v) note("$((" + inside.substr(0, 40) + ")) is taken as empty");
    return v ? std::to_string(*v) : "";
  }

  // The inside of ${...}: NAME, NAME[@], NAME[i], NAME:-word, NAME-word, NAME:=word, NAME:+word; other forms give NAME.
  Words braces(const std::string& inside, int line) {
    std::size_t j = 0;
    while (j < inside.size() && name_char(inside[j])) ++j;
    const std::string name = inside.substr(0, j), rest = inside.substr(j);
    if (rest.starts_with("[@]") || rest.starts_with("[*]")) return value_of(name, true);
    if (rest.starts_with("[")) {
      const auto index = evaluate_arithmetic(std::string_view(rest).substr(1, rest.find(']') - 1));
      const Words* v = variable(name);
      if (v != nullptr && index && *index >= 0 && static_cast<std::size_t>(*index) < v->size())
        return {(*v)[static_cast<std::size_t>(*index)]};
      return {};
    }
    const std::size_t op = rest.starts_with(":") ? 1 : 0;
    const char kind = op < rest.size() ? rest[op] : '\0';
    const Words* v = variable(name);
    const bool set = v != nullptr && !v->empty() && (op == 0 || !v->front().text.empty());
    if (kind == '-' || kind == '=')
      return set ? value_of(name, false) : Words{{expand(rest.substr(op + 1), depth_ + 1), line}};
    if (kind == '+') return set ? Words{{expand(rest.substr(op + 1), depth_ + 1), line}} : Words{};
    return value_of(name, false);
  }

  // One word of the source, as the words that it becomes: unquoted expansions split at blanks, quoted arrays stay
  // elements.
  void word(Words& out) {
    std::string text;
    bool present = false;
    const int line = line_;
    const auto flush = [&] {
      spent_ += text.size() + 1;
      if (present) out.push_back({std::exchange(text, {}), line});
      present = false;
    };
    while (!error_ && at_ < text_.size()) {
      const char c = peek();
      if (continuation()) {
        skip_continuation();
        continue;
      }
      if (is_space(c) || c == ';' || c == '|' || c == '&' || c == '(' || c == ')' || c == '<' || c == '>') break;
      if (c == '\'') {
        ++at_;
        present = true;
        while (at_ < text_.size() && peek() != '\'') text += next();
        if (at_ >= text_.size()) return fail(line, "expected a closing quote ', found the end of the file");
        ++at_;
      } else if (c == '"') {
        ++at_;
        present = true;
        double_quoted(out, text, present, line);
      } else if (c == '\\') {
        ++at_;
        present = true;
        if (at_ < text_.size()) text += next();
      } else if (c == '$') {
        Words pieces;
        for (const auto& w : dollar()) split_into(pieces, w);
        for (std::size_t i = 0; i < pieces.size(); ++i) {
          if (i > 0) flush();
          text += pieces[i].text;
          present = true;
        }
      } else if (c == '`') {
        ++at_;
        while (at_ < text_.size() && next() != '`') {
        }
        note("the output of a command in backquotes is taken as empty");
      } else {
        present = true;
        text += next();
      }
      if (text.size() > kMaxText || out.size() > kMaxWords || spent_ > kMaxSpent)
        return fail(line, "expected a script of sane size, found one that expands without end");
    }
    flush();
  }

  void double_quoted(Words& out, std::string& text, bool& present, int line) {
    while (!error_ && at_ < text_.size() && peek() != '"') {
      if (continuation())
        skip_continuation();
      else if (peek() == '\\' && at_ + 1 < text_.size()) {
        ++at_;
        text += next();
      } else if (peek() == '$') {
        const Words pieces = dollar();
        for (std::size_t i = 0; i < pieces.size(); ++i) {
          if (i > 0) {
            spent_ += text.size() + 1;
            out.push_back({std::exchange(text, {}), line});
          }
          text += pieces[i].text;
        }
        if (pieces.empty() && text.empty() && peek() == '"') present = false;  // "${EMPTY[@]}" is no word
      } else
        text += next();
      if (text.size() > kMaxText || out.size() > kMaxWords || spent_ > kMaxSpent)
        return fail(line, "expected a script of sane size, found one that expands without end");
    }
    if (at_ >= text_.size()) return fail(line, "expected a closing quote \", found the end of the file");
    ++at_;
  }

  // NAME=, NAME+=, at the start of a word; returns false where the next word is none.
  bool assignment() {
    std::size_t j = at_;
    if (!name_start(peek())) return false;
    while (j < text_.size() && name_char(text_[j])) ++j;
    const bool append = j + 1 < text_.size() && text_[j] == '+' && text_[j + 1] == '=';
    if (!append && (j >= text_.size() || text_[j] != '=')) return false;
    const std::string name(text_.substr(at_, j - at_));
    at_ = j + (append ? 2 : 1);
    Words value;
    if (peek() == '(') {
      const int line = line_;
      ++at_;
      while (true) {
        skip_blanks(true);
        if (error_) return true;
        if (at_ >= text_.size())
          return fail(line, "expected a closing ')' of the array " + name + ", found the end of the file"), true;
        if (peek() == ')') break;
        const std::size_t before = at_;
        word(value);
        if (at_ == before) ++at_;  // an operator that means nothing here
      }
      ++at_;
      arrays_[name] = true;
      Words& target = variables_[name];
      if (!append) target.clear();
      target.insert(target.end(), value.begin(), value.end());
    } else {
      word(value);
      ShellWord whole{joined(value), value.empty() ? line_ : value.front().line};
      Words& target = variables_[name];
      if (append && !target.empty()) whole.text = target.front().text + whole.text;
      target = {whole};
      arrays_.erase(name);
    }
    return true;
  }

  void skip_here_document(const std::string& tag) {
    while (at_ < text_.size() && next() != '\n') {
    }
    while (at_ < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      std::string_view row = text_.substr(at_, end - at_);
      while (!row.empty() && is_space(row.front())) row.remove_prefix(1);
      at_ = std::min(end + 1, text_.size());
      ++line_;
      if (row == tag) return;
    }
  }

  // At '<' or '>': its target is no word, nor is the number right before it ("2>&1"). True: a here-document ended the
  // command.
  bool redirect(Words& command, bool after_number) {
    const char c = next();
    if (after_number && !command.empty()) command.pop_back();
    const bool here = c == '<' && peek() == '<';
    if (here) ++at_;
    while (peek() == '>' || peek() == '&' || (here && peek() == '-')) ++at_;
    skip_blanks(false);
    Words target;
    word(target);
    if (here && !target.empty()) skip_here_document(target.front().text);
    return here;
  }

  void end_command(Words& command) {
    if (!command.empty()) {
      static const char* const kKeywords[] = {"if",   "elif",  "while",  "until", "for",  "case", "[",        "[[",
                                              "then", "else",  "fi",     "do",    "done", "esac", "function", "echo",
                                              "cd",   "mkdir", "source", "set",   "{",    "}"};
      const std::string& first = command.front().text;
      if (first == "if" || first == "case")
        note("every branch of \"" + first + "\" was read, the last assignment wins");
      const bool keyword =
          std::any_of(std::begin(kKeywords), std::end(kKeywords), [&](const char* k) { return first == k; });
      words_ += command.size();
      if (!keyword) script_.commands.push_back(std::move(command));
      if (words_ > kMaxWords) fail(line_, "expected at most 200,000 words, found more");
    }
    command.clear();
  }

  void statement() {
    Words command;
    skip_blanks(true);
    while (!error_ && at_ < text_.size()) {
      skip_blanks(false);
      const char c = peek();
      if (at_ >= text_.size()) break;
      if (c == '\n' || c == ';') {
        next();
        break;
      }
      if (c == '|' || c == '&' || c == '(' || c == ')') {
        next();
        break;
      }
      if (c == '<' || c == '>') {
        if (redirect(command, std::exchange(number_end_, 0) == at_)) break;
        continue;
      }
      const bool prefix = command.empty() || command.front().text == "export" || command.front().text == "local" ||
                          command.front().text == "declare" || command.front().text == "then" ||
                          command.front().text == "else" || command.front().text == "do" ||
                          command.front().text == "readonly" || command.front().text == "{";
      if (prefix && assignment()) continue;
      const std::size_t start = at_;
      word(command);
      number_end_ = at_ - start == 1 && std::isdigit(static_cast<unsigned char>(text_[start])) ? at_ : 0;
      if (at_ == start) ++at_;
      if (command.size() == 1 && (command.front().text == "then" || command.front().text == "else" ||
                                  command.front().text == "do" || command.front().text == "{"))
        command.clear();
    }
    if (command.size() == 1 && (command.front().text == "export" || command.front().text == "local")) command.clear();
    end_command(command);
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0, words_ = 0, spent_ = 0, number_end_ = 0;
  int line_ = 1, depth_ = 0;
  std::map<std::string, Words> variables_;
  std::map<std::string, bool> arrays_;
  ShellScript script_;
  std::optional<Error> error_;
};

}  // namespace

core::Result<ShellScript> read_shell(std::string_view text, const std::string& file) { return Shell(text, file).run(); }

}  // namespace twin::work
