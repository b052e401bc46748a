// Errors of usage; see the header.
#include "sim/cli/usage.hpp"
#include "sim/core/json_reader.hpp"

namespace twin::cli {
namespace {

using core::Error;
using core::ErrorCode;

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options())
    for (const auto& name : option->get_lnames()) flags.push_back("--" + name);
  return flags;
}

std::string hint_for(const std::string& found, const std::vector<std::string>& names, const std::string& otherwise) {
  const std::string near = core::nearest(found, names);
  return near.empty() ? otherwise : "did you mean '" + near + "'?";
}

}  // namespace

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

Error unknown_name(const std::string& where, const std::string& what, const std::string& found,
                   const std::vector<std::string>& names) {
  return {ErrorCode::kUsage, where, "expected " + what + " (" + joined(names) + "), found '" + found + "'",
          hint_for(found, names, "")};
}

core::Result<std::size_t> pick(const std::string& flag, const std::string& value,
                               const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == value) return i;
  return unknown_name(flag, "one of", value, names);
}

Error unknown_argument(const CLI::App& command, const std::string& argument) {
  const std::string help = "traintwin " + command.get_name() + " --help lists the options";
  if (argument.rfind('-', 0) != 0)
    return {ErrorCode::kUsage, command.get_name(), "expected no further argument, found '" + argument + "'", help};
  const std::string flag = argument.substr(0, argument.find('='));
  return {ErrorCode::kUsage, command.get_name(), "expected an option of this command, found '" + flag + "'",
          hint_for(flag, flags_of(command), help)};
}

std::string not_empty(const std::string& value) { return value.empty() ? "expected a value, found an empty one" : ""; }

std::string not_negative(const std::string& value) {
  return value.rfind('-', 0) == 0 ? "expected a whole number of at least 0, found " + value : "";
}

Error parse_error(const CLI::App& command, const CLI::ParseError& error) {
  std::string text = error.what();
  const auto colon = text.find(": ");
  std::string where = command.get_name();
  if (const auto flag = text.substr(0, colon); colon != std::string::npos && flag.rfind("--", 0) == 0) {
    where += " " + flag;
    text = text.substr(colon + 2);
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error)) text = "expected a value, found none";
  if (dynamic_cast<const CLI::ConversionError*>(&error)) {  // "Could not convert: --seed = x"
    if (const auto equals = text.find(" = "); equals != std::string::npos && colon != std::string::npos) {
      where += " " + text.substr(colon + 2, equals - colon - 2);
      text = "expected a number, found '" + text.substr(equals + 3) + "'";
    }
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error))
    text = "expected " + text.substr(0, text.find(" is required")) + ", found nothing";
  return {ErrorCode::kUsage, where, text, "traintwin " + command.get_name() + " --help shows the form"};
}

}  // namespace twin::cli
