// Report rows from cases: predictions, the null model, memory figures. Private to validate.
#pragma once
#include "validate/validate.hpp"

namespace twin::validate {

std::vector<ReportRow> step_rows(const std::vector<Case>& cases, const device::Constants& constants, int threads);
// The null model: held-out median utilisation of rows with the same accelerator, width of the GEMMs and kind of
// sharding (then the same accelerator and width, then accelerator, then all), by leave-group-out folds.
void add_null_errors(const std::vector<Case>& cases, const std::vector<int>& fold, std::vector<ReportRow>& rows);
std::vector<ReportRow> memory_rows(const std::vector<Row>& rows, const device::Constants& constants,
                                   const ValidateOptions& options);
std::vector<ReportRow> peak_rows(const std::vector<Case>& cases, const device::Constants& constants, int threads);
std::vector<int> group_folds(const std::vector<Case>& cases);
void fill_summaries(ValidationReport& report);

}  // namespace twin::validate
