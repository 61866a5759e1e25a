#include "app/ctx/core/problems.h"

#include "app/ctx/core/text.h"

namespace cortexfs::ctx {

void writeProblems(Output &out, const json::Value &problems)
{
    if (problems.size() == 0)
        return;
    out.line(out.styled(Style::Bad, "problems:"));
    Table table;
    for (const json::Value &problem : problems.elements()) {
        table.add({"  " + std::string(problem["where"].stringOr("?")), std::string(problem["code"].stringOr("?")),
                   std::string(problem["message"].stringOr("?"))});
    }
    out.write(table.text());
}

} // namespace cortexfs::ctx
